import { setTimeout as sleepFor } from 'node:timers/promises'

import type { ModelDefinition, ModelRateLimit } from '../../definitions/model.js'
import type { Registry } from '../../definitions/registry.js'
import type { Admission } from '../../model/call-model.js'
import { ProviderGate } from '../../model/provider-gate.js'
import { ProviderPause } from '../../model/provider-pause.js'
import type { ModelStep } from './model-step.js'
import { patienceOf } from './provider-patience.js'

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
  const key = `${step.input.threadId}:${step.operationId}`
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
