import { createHash } from 'node:crypto'
import type { Registry } from '../../definitions/registry.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonObject } from '../../protocol/values.js'
import { createBufferedEffects } from './buffered-effects.js'
import type { BufferedEffectsOptions } from './buffered-effects.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'
import { createTurns } from './turns.js'

type EffectMembers = Pick<ThreadState, 'scheduleEffect' | 'getScheduledEffects' | 'removeScheduledEffect'>

/** The delayed work of a thread as one call sees it. */
export function createEffectsOverlay(
  options: BufferedEffectsOptions & { readonly registry: Registry },
): EffectMembers {
  const { registry, threadId, origin, now } = options
  const effects = createBufferedEffects(options)
  const opened = performance.now()
  const inTurn = createTurns()
  let made = 0

  /** The same in each attempt, and no longer when an effect schedules the next one, year after year. */
  function nextId(): string {
    const digest = createHash('sha256').update(JSON.stringify([threadId, origin.id, made++]))
    return `effect_${digest.digest('hex').slice(0, 20)}`
  }

  async function schedule(name: string, args: unknown, delay: number): Promise<string> {
    if (registry.effect(name) === undefined)
      throw new Error(`Expected the name of a registered effect, got "${String(name)}", which is none.`)
    const given = effectArguments(name, args)
    assertDelay(delay)
    if ((await effects.current()).length >= LIMITS.effects)
      throw new Error(
        `Expected at most ${LIMITS.effects} scheduled effects of a thread, got another one: remove some.`,
      )
    // From this moment, and a call may have run for minutes.
    const start = now + Math.round(performance.now() - opened) * 1000
    const id = nextId()
    effects.schedule({ id, name, args: given, scheduledAt: start + Math.ceil(delay) * 1000, createdAt: now })
    return id
  }

  return {
    scheduleEffect: (name, args, delay = 0) => inTurn(() => schedule(name, args, delay)),
    getScheduledEffects: async (name) =>
      (await effects.current())
        .filter((effect) => name === undefined || effect.name === name)
        .map((effect) => structuredClone(effect)),
    removeScheduledEffect: (id) =>
      inTurn(async () => {
        const found = (await effects.current()).find((effect) => effect.id === id)
        if (found !== undefined) effects.remove(found)
        return found !== undefined
      }),
  }
}

/** Its schema looks at them when it runs, as the code then is. */
function effectArguments(name: string, args: unknown): JsonObject {
  const copy = jsonObjectCopy(args, `the arguments of the effect "${name}"`)
  const bytes = Buffer.byteLength(JSON.stringify(copy))
  if (bytes <= LIMITS.effectArgumentBytes) return copy
  throw new Error(
    `Expected the arguments of the effect "${name}" to have at most ${LIMITS.effectArgumentBytes} bytes, got ${bytes}: ` +
      'write them to a file.',
  )
}

function assertDelay(delay: unknown): void {
  if (typeof delay === 'number' && delay >= 0 && delay <= LIMITS.effectDelay) return
  const came = typeof delay === 'number' ? String(delay) : kindOf(delay)
  throw new Error(`Expected a delay of 0 to ${LIMITS.effectDelay} milliseconds, got ${came}.`)
}
