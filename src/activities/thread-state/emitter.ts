import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonValue } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Store } from '../../store/store.js'
import { scopeOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'
import { jsonCopy, kindOf } from './strict-json.js'

/** Custom events, written while the call runs: the one thing that a call does at once, whatever becomes of it. */
export interface Emitter {
  /** @throws a sentence for what is no event */
  readonly emit: (event: string, data: JsonValue) => void
  /** All of them are stored, or given up. */
  readonly settled: () => Promise<void>
}

interface EmitterOptions {
  readonly store: Store
  readonly threadId: string
  readonly origin: StateOrigin
  /** Microseconds. */
  readonly now: number
}

export function createEmitter({ store, threadId, origin, now }: EmitterOptions): Emitter {
  let waiting: Fact[] = []
  let emitted = 0
  let writing: Promise<void> | undefined

  /** Those that come while a transaction waits share the next one. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const events = waiting
      waiting = []
      // Nobody waits for them: a store that is down costs the call nothing.
      await store.write((tx) => appendEvents(tx, { threadId, events, now })).catch(() => undefined)
    }
    writing = undefined
  }

  return {
    emit(event, data) {
      const payload = { name: checkedName(event), data: jsonCopy(data, `the data of "${event}"`) }
      const bytes = Buffer.byteLength(JSON.stringify(payload))
      if (bytes > LIMITS.customEventBytes)
        throw new Error(
          `Expected an event of at most ${LIMITS.customEventBytes} bytes, got "${event}" of ${bytes}: write a file.`,
        )
      if (emitted >= LIMITS.customEventsByCall)
        throw new Error(`Expected at most ${LIMITS.customEventsByCall} events of one call, got another one.`)
      emitted += 1
      waiting.push({ type: 'custom', scope: scopeOf(origin), payload })
      writing ??= write()
    },
    settled: async () => writing,
  }
}

function checkedName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= LIMITS.nameLength) return name
  const came = typeof name === 'string' ? `one of ${name.length}` : kindOf(name)
  throw new Error(
    `Expected the name of an event to be a text of 1 to ${LIMITS.nameLength} characters, got ${came}.`,
  )
}
