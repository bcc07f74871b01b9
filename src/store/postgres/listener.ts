import { CHANNEL } from './announcer.js'
import { HeardClient } from './heard-client.js'
import { connectionConfig } from './pool.js'
import type { PostgresPlace } from './postgres-place.js'

const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000

export interface Listener {
  end(): Promise<void>
}

interface Listening {
  readonly heard: (payload: string) => void
  /** It listens from now on, for the first time or again after its connection was lost. */
  readonly began: () => void
}

/** One connection that hears what processes say to each other, made anew whenever it is lost. */
export function listenTo(place: PostgresPlace, { heard, began }: Listening): Listener {
  let client: HeardClient | undefined
  let timer: NodeJS.Timeout | undefined
  let pause = FIRST_PAUSE
  let ended = false
  let connecting = connect()

  async function connect(): Promise<void> {
    const fresh = new HeardClient({ ...connectionConfig(place), connectionTimeoutMillis: LONGEST_PAUSE })
    client = fresh
    fresh.on('notification', ({ payload = '' }) => heard(payload))
    fresh.once('end', () => {
      if (client === fresh) again()
    })
    try {
      await fresh.connect()
      await fresh.query(`listen ${CHANNEL}`)
      pause = FIRST_PAUSE
      began()
    } catch {
      await fresh.end().catch(() => undefined)
      again()
    }
  }

  function again(): void {
    if (ended || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      connecting = connect()
    }, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  }

  return {
    async end() {
      ended = true
      clearTimeout(timer)
      await connecting
      await client?.end().catch(() => undefined)
    },
  }
}
