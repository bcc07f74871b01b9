import { setTimeout as sleepFor } from 'node:timers/promises'
import type { Registry } from '../../definitions/known-definitions.js'
import type { ModelDefinition, ModelRateLimit } from '../../definitions/model.js'
import type { Admission } from '../../model/call-model.js'
import { asksForPause } from '../../model/model-error.js'
import { ProviderGate } from '../../model/provider-gate.js'
import { ProviderPause, withJitter } from '../../model/provider-pause.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Store } from '../../store/store.js'
import { waitedOf } from '../../store/threads/runs.js'
import type { FailedModel } from './answer-facts.js'
import type { ModelStep } from './model-step.js'

type Provider = ModelDefinition['provider']

interface Visitor {
  readonly step: ModelStep
  readonly model: ModelDefinition
  readonly signal: AbortSignal
}

/** What all threads of this process share of one provider object, whatever definitions share it. */
interface SharedProvider {
  readonly gate: ProviderGate
  /** By the provider's id of the model: providers count requests by model. */
  readonly pauses: Map<string, ProviderPause>
  readonly time: TemporalTime
}

/**
 * Temporal's time, as far as the steps of this process have told it: a thread comes back by that time, and a server of
 * tests skips hours of it. Of two steps the one that waited less for its worker knows the time better.
 */
class TemporalTime {
  #ahead = -Infinity

  hear({ input, startedAt }: ModelStep): void {
    this.#ahead = Math.max(this.#ahead, input.now - startedAt)
  }

  now(): number {
    return performance.now() + this.#ahead
  }
}

const providers = new WeakMap<Provider, SharedProvider>()

/** What a provider takes at a time, and the pause that it asked for, hold for all threads of this worker. */
export function admission(registry: Registry, { step, model, signal }: Visitor): Admission {
  const { provider } = model
  const limit = limitOf(registry, provider)
  const { gate, pause, time } = sharedOf(model)
  const key = `${step.input.threadId}:${step.operation.id}`
  const caller = { signal, patience: patienceOf(step) }
  time.hear(step)
  return {
    async run(work) {
      await pause.pass(caller)
      if (limit === null) return work()
      return gate.run({ limit, key, signal }, async () => {
        // The line may have taken longer than it took another thread to be refused.
        await pause.pass(caller)
        return work()
      })
    },
    refused: (milliseconds) => pause.begin(milliseconds),
  }
}

interface SharedModel extends Pick<SharedProvider, 'gate' | 'time'> {
  readonly pause: ProviderPause
}

function sharedOf({ provider, model }: ModelDefinition): SharedModel {
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

/** Of all definitions with this provider object the strictest limit holds; null if none has one. */
function limitOf(registry: Registry, provider: Provider): ModelRateLimit | null {
  const limits = registry.names().models.flatMap((name) => {
    const model = registry.model(name)
    return model?.provider === provider && model.rateLimit !== undefined ? [model.rateLimit] : []
  })
  const concurrency = strictest(limits.map((limit) => limit.concurrency))
  const requestsPerMinute = strictest(limits.map((limit) => limit.requestsPerMinute))
  if (concurrency === undefined && requestsPerMinute === undefined) return null
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
  }
}

function strictest(limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

/**
 * How long a run waits for its providers: each pause that one of them asks for, as long as all pauses of the run together
 * stay within the patience of its agent. What is waited for inside of a request, ten seconds at a time, is not counted.
 */

/** Milliseconds: the first wait for a provider that does not say how long, doubled with each further one of the step. */
const FIRST_WAIT = 2000

/** Milliseconds in all. */
export function patienceOf({ content }: Pick<ModelStep, 'content'>): number {
  return content.providerPatience ?? LIMITS.providerPatience
}

/** Milliseconds until one of the models may be asked again; null if none asks for a pause, or the run has waited enough. */
export async function waitBeforeNext(
  store: Store,
  step: ModelStep,
  failures: readonly FailedModel[],
): Promise<number | null> {
  const wait = shortestWait(failures, step.log.waits)
  if (wait === null) return null
  const { threadId, run } = step.input
  const waited = await store.read((db) => waitedOf(db, { threadId, number: run }))
  return waited + wait.asked > patienceOf(step) ? null : withoutHurry(wait)
}

interface Wait {
  /** Milliseconds. */
  readonly asked: number
  /** The time is this thread's own already: others have other times. */
  readonly isOwn: boolean
}

/** Of the models that ask for a pause the first that can be asked again. */
function shortestWait(failures: readonly FailedModel[], waits: number): Wait | null {
  const asked = failures
    .filter(({ error }) => asksForPause(error))
    .map(({ error: { kind, retryAfter } }): Wait => {
      const isOwn = kind === 'throttled' || kind === 'paused'
      return { asked: isOwn ? (retryAfter ?? 0) : grown(retryAfter ?? 0, waits), isOwn }
    })
    .toSorted((one, other) => one.asked - other.asked)
  return asked[0] ?? null
}

/** A provider that still refuses after the wait that it asked for is given ever more time. */
function grown(asked: number, waits: number): number {
  return Math.max(asked, Math.min(FIRST_WAIT * 2 ** waits, LIMITS.longestProviderWait))
}

function withoutHurry({ asked, isOwn }: Wait): number {
  return isOwn ? asked : withJitter(asked)
}
