/**
 * The limits that all requests of this worker to one provider share.
 * Owns: the gate and the pauses of each provider object, Temporal's time as they need it, and the wait of a run.
 * Does not own: the gate and the pause themselves (`model/provider-gate.ts`, `model/provider-pause.ts`), and the
 * timer of a wait, which the workflow sets.
 */
import { setTimeout as sleepFor } from 'node:timers/promises'

import type { Registry } from '../../definitions/known-definitions.js'
import type { ModelDefinition, ModelRateLimit } from '../../definitions/model.js'
import type { Admission } from '../../model/call-model.js'
import { asksForPause } from '../../model/model-error.js'
import { ProviderGate } from '../../model/provider-gate.js'
import { ProviderPause } from '../../model/provider-pause.js'
import { LIMITS } from '../../protocol/limits.js'
import type { FailedModel } from './answer-facts.js'
import type { ModelStep } from './model-step.js'

type Provider = ModelDefinition['provider']

interface RequestCaller {
  readonly step: ModelStep
  readonly model: ModelDefinition
  readonly signal: AbortSignal
}

/** The state that all threads of this process share for one provider object, by whatever definition they use it. */
interface SharedProvider {
  readonly gate: ProviderGate
  /** By the provider's model id: providers count requests by model. */
  readonly pauses: Map<string, ProviderPause>
  readonly time: TemporalTime
}

/**
 * Temporal's time, estimated from the steps of this process. A waiting thread resumes by Temporal's clock, which a
 * test server may advance by hours. The step that has waited least for a worker gives the best estimate, so the
 * largest offset wins.
 */
class TemporalTime {
  #ahead = -Infinity

  observe({ input, startedAt }: ModelStep): void {
    this.#ahead = Math.max(this.#ahead, input.now - startedAt)
  }

  now(): number {
    return performance.now() + this.#ahead
  }
}

const providers = new WeakMap<Provider, SharedProvider>()

/**
 * Creates the admission of one request: the concurrency and rate limits of a provider, and the pause that it has
 * requested, apply to all threads of this worker.
 */
export function createAdmission(registry: Registry, { step, model, signal }: RequestCaller): Admission {
  const { provider } = model
  const limit = limitOf(registry, provider)
  const { gate, pause, time } = shareProvider(model)
  const key = `${step.input.threadId}:${step.operation.id}`
  const caller = { signal, patience: patienceOf(step) }
  time.observe(step)
  return {
    async run(work) {
      await pause.pass(caller)
      if (limit === null) return work()
      return gate.run({ limit, key, signal }, async () => {
        // While this request was queued, the provider may have refused another one.
        await pause.pass(caller)
        return work()
      })
    },
    notePause: (milliseconds) => pause.begin(milliseconds),
  }
}

interface SharedModel extends Pick<SharedProvider, 'gate' | 'time'> {
  readonly pause: ProviderPause
}

function shareProvider({ provider, model }: ModelDefinition): SharedModel {
  const shared = providers.get(provider) ?? {
    gate: new ProviderGate(),
    pauses: new Map<string, ProviderPause>(),
    time: new TemporalTime(),
  }
  providers.set(provider, shared)
  const { gate, pauses, time } = shared
  const clock = { now: () => time.now(), sleep, random: Math.random }
  const pause = pauses.get(model) ?? new ProviderPause(clock)
  pauses.set(model, pause)
  return { gate, pause, time }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return sleepFor(milliseconds, undefined, { signal })
}

/** The strictest limits of all definitions with this provider object; null if no definition has a limit. */
function limitOf(registry: Registry, provider: Provider): ModelRateLimit | null {
  const limits = registry.names().models.flatMap((name) => {
    const model = registry.model(name)
    return model?.provider === provider && model.rateLimit !== undefined ? [model.rateLimit] : []
  })
  const concurrency = smallest(limits.map((limit) => limit.concurrency))
  const requestsPerMinute = smallest(limits.map((limit) => limit.requestsPerMinute))
  if (concurrency === undefined && requestsPerMinute === undefined) return null
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
  }
}

function smallest(limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

/**
 * The patience of an agent: the total milliseconds that a run waits for its providers. Only waits of the workflow
 * count. Waits within one request do not: each lasts at most ten seconds.
 */
export function patienceOf({ content }: Pick<ModelStep, 'content'>): number {
  return content.providerPatience ?? LIMITS.providerPatience
}

/**
 * Milliseconds: the first wait for a provider that names no time. Each further wait of the step is twice as long.
 */
const FIRST_WAIT = 2000

interface Wait {
  /** Milliseconds. */
  readonly asked: number
  /** The time already differs from thread to thread, so it needs no jitter. */
  readonly isOwn: boolean
}

/**
 * Returns the shortest wait of the models whose providers request a pause; null if none does. `waits` counts the
 * waits of this step so far.
 */
export function shortestWait(failures: readonly FailedModel[], waits: number): Wait | null {
  const asked = failures
    .filter(({ error }) => asksForPause(error))
    .map(({ error: { kind, retryAfter } }): Wait => {
      const isOwn = kind === 'throttled' || kind === 'paused'
      return { asked: isOwn ? (retryAfter ?? 0) : growWait(retryAfter ?? 0, waits), isOwn }
    })
    .toSorted((one, other) => one.asked - other.asked)
  return asked[0] ?? null
}

/** Doubles the wait, in milliseconds, each time that the provider refuses again. */
export function growWait(asked: number, waits: number): number {
  return Math.max(asked, Math.min(FIRST_WAIT * 2 ** waits, LIMITS.longestProviderWait))
}
