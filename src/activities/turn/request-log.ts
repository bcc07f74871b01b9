import type { ModelContent } from '../../definitions/plan/plan-content.js'
import type { ModelUsage } from '../../model/model-answer.js'
import type { ModelError } from '../../model/model-error.js'
import type { Usage } from '../../protocol/activities.js'

/** One request to a provider. `error` is the reason for no answer: `lost` if its attempt was interrupted. */
interface RequestRecord {
  readonly model: string
  /** The prices that are known. */
  readonly prices: Partial<Prices>
  readonly usage: Usage | null
  readonly error: string | null
}

/** The detail of a model operation's row. */
export interface OperationDetail {
  /** The digest of its plan. */
  readonly plan: string
  readonly requests: readonly RequestRecord[]
  /** The number of requests that the usage of an earlier answer includes. */
  readonly reported?: number
  /** The number of waits for providers, and their total milliseconds; left out if there are none. */
  readonly waits?: number
  readonly waited?: number
}

type Known = Partial<OperationDetail> & { readonly plan: string }

/** A request of this attempt that failed. */
interface FailedRequest {
  readonly number: number
  readonly error: ModelError
}

/**
 * The requests of an operation over all its attempts, numbered from 1. Subscribers drop the text of lower numbers,
 * and every request that costs money is counted.
 */
export class RequestLog {
  readonly #known: Known
  readonly #requests: RequestRecord[]
  readonly #failures: FailedRequest[] = []
  #isOpen = false
  #isFresh = true
  #reported: number
  #waits: number
  #waited: number

  /** Keeps other fields of the detail. */
  constructor(known: Known) {
    const { requests = [], reported = 0, waits = 0, waited = 0 } = known
    this.#known = known
    this.#requests = requests.map((request) =>
      request.usage === null && request.error === null ? { ...request, error: 'lost' } : request,
    )
    this.#reported = reported
    this.#waits = waits
    this.#waited = waited
  }

  /** The number of the newest request. */
  get number(): number {
    return this.#requests.length
  }

  /** True while a request is pending. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** True if this attempt has sent no request yet. */
  get isFresh(): boolean {
    return this.#isFresh
  }

  /** The failures of this attempt. */
  get failures(): readonly FailedRequest[] {
    return this.#failures
  }

  get waits(): number {
    return this.#waits
  }

  get waited(): number {
    return this.#waited
  }

  /** The newest request. */
  get last(): RequestRecord | undefined {
    return this.#requests.at(-1)
  }

  /** The model of the newest request. */
  get model(): string | null {
    return this.#requests.at(-1)?.model ?? null
  }

  /** The newest request, as events name it. */
  get newest(): { readonly model: string; readonly attempt: number } {
    return { model: this.#newest().model, attempt: this.number }
  }

  begin({ model, prices }: { readonly model: string; readonly prices: Prices }): void {
    const known = Object.fromEntries(Object.entries(prices).filter(([, price]) => price !== null))
    this.#requests.push({ model, prices: known, usage: null, error: null })
    this.#isOpen = true
    this.#isFresh = false
  }

  /** Records the usage of the newest request's answer. */
  recordAnswer(usage: ModelUsage): Usage {
    const cost = usageOf(pricesOf(this.#newest().prices), usage)
    this.#end({ usage: cost, error: null })
    return cost
  }

  recordFailure(error: ModelError): void {
    const usage = error.usage === null ? null : usageOf(pricesOf(this.#newest().prices), error.usage)
    this.#end({ usage, error: error.kind })
    this.#failures.push({ number: this.number, error })
  }

  /** The answer of the activity reports the usage so far. */
  report(): void {
    this.#reported = this.#requests.length
  }

  recordWait(milliseconds: number): void {
    this.report()
    this.#waits += 1
    this.#waited += milliseconds
  }

  /** The usage that no answer has reported yet; null if there is none. A wait reports the usage so far. */
  sumUnreportedUsage(): Usage | null {
    const usages = this.#requests
      .slice(this.#reported)
      .flatMap(({ usage }) => (usage === null ? [] : [usage]))
    return usages.length === 0 ? null : sumOf(usages)
  }

  detail(): OperationDetail {
    const waited = { reported: this.#reported, waits: this.#waits, waited: this.#waited }
    return {
      ...this.#known,
      requests: [...this.#requests],
      ...((this.#waits > 0 || this.#reported > 0) && waited),
    }
  }

  #end(outcome: Pick<RequestRecord, 'usage' | 'error'>): void {
    this.#requests[this.#requests.length - 1] = { ...this.#newest(), ...outcome }
    this.#isOpen = false
  }

  #newest(): RequestRecord {
    const newest = this.#requests.at(-1)
    if (newest === undefined) throw new Error('Expected a request that has begun, found none.')
    return newest
  }
}

/** Dollars per million tokens; null if unknown. */
type Prices = Pick<ModelContent, 'inputPrice' | 'outputPrice' | 'cachedPrice'>

export function pricesOf(
  model: Partial<{ readonly [Price in keyof Prices]: Prices[Price] | undefined }> | undefined,
): Prices {
  const { inputPrice = null, outputPrice = null, cachedPrice = null } = model ?? {}
  return { inputPrice, outputPrice, cachedPrice }
}

/**
 * The tokens and cost of one request. Prices are dollars per million tokens, so tokens times price are millionths of
 * a dollar. Cached tokens are part of the input. The cost is null if a price is unknown.
 */
export function usageOf(prices: Prices, usage: ModelUsage): Usage {
  return { ...usage, cost: costOf(prices, usage) }
}

/** The usage of several requests; one unknown cost makes the sum unknown. */
function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce<Usage>(addUsage, { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 })
}

/** Adds one usage to a sum; null is the empty sum. */
export function addUsage(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + usage.cachedInputTokens,
    cost: sum.cost === null || usage.cost === null ? null : sum.cost + usage.cost,
  }
}

function costOf({ inputPrice, outputPrice, cachedPrice }: Prices, usage: ModelUsage): number | null {
  if (inputPrice === null || outputPrice === null) return null
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens)
  const input = (usage.inputTokens - cached) * inputPrice + cached * (cachedPrice ?? inputPrice)
  return Math.round(input + usage.outputTokens * outputPrice)
}
