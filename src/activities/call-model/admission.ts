import type { ModelDefinition, ModelRateLimit } from '../../definitions/model.js'
import type { Registry } from '../../definitions/registry.js'
import { ProviderGate } from '../../model/provider-gate.js'
import type { ModelStep } from './model-step.js'

type Provider = ModelDefinition['provider']

/** Runs a request when there is room for it. */
export type Admission = <T>(work: () => Promise<T>) => Promise<T>

interface Visitor {
  readonly step: Pick<ModelStep, 'input' | 'operationId'>
  readonly provider: Provider
  readonly signal: AbortSignal
}

/** One gate a provider object, whatever definitions share it, for all threads of this process. */
const gates = new WeakMap<Provider, ProviderGate>()

/** What a provider takes at a time holds for all threads of this worker; without a limit a request goes at once. */
export function admission(registry: Registry, { step, provider, signal }: Visitor): Admission {
  const limit = limitOf(registry, provider)
  if (limit === null) return (work) => work()
  const gate = gates.get(provider) ?? new ProviderGate()
  gates.set(provider, gate)
  const key = `${step.input.threadId}:${step.operationId}`
  return (work) => gate.run({ limit, key, signal }, work)
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
