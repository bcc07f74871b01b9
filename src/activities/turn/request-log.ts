import type { Prices } from '../../definitions/prices/defined-prices.js'
import type { ModelUsage } from '../../model/model-answer.js'
import type { ModelError } from '../../model/model-error.js'
import type { Usage } from '../../protocol/activities.js'
import type { RecordedRequest } from '../../protocol/status.js'

/** A request with the prices that it was begun with. */
export interface RequestRecord extends RecordedRequest {
  /** The prices that are known. */
  readonly prices: Partial<Prices>
}

/** The detail of a model operation's row. */
export interface OperationDetail {
  /** The digest of its plan. */
  readonly plan: string
  readonly requests: readonly RequestRecord[]
  /** The number of requests that the usage of an earlier answer includes. */
  readonly reported?: number
  /** What a compaction before the request cost, which no answer has reported yet. */
  readonly beside?: Usage | null
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
  #began = 0
  #reported: number
  #beside: Usage | null
  #waits: number
  #waited: number

  /** Keeps other fields of the detail. */
  constructor(known: Known) {
    const { requests = [], reported = 0, beside = null, waits = 0, waited = 0 } = known
    this.#known = known
    this.#requests = requests.map((request) =>
      request.usage === null && request.error === null ? { ...request, error: 'lost' } : request,
    )
    this.#reported = reported
    this.#beside = beside
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
    this.#began = performance.now()
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
    this.#beside = null
  }

  recordWait(milliseconds: number): void {
    this.report()
    this.#waits += 1
    this.#waited += milliseconds
  }

  /** The usage that no answer has reported yet; null if there is none. A wait reports the usage so far. */
  sumUnreportedUsage(): Usage | null {
    const own = sumUsage(this.#requests.slice(this.#reported))
    return this.#beside === null ? own : addUsage(own, this.#beside)
  }

  /** Adds the cost of an operation beside this one, which the answer reports too. */
  addBeside(usage: Usage): void {
    this.#beside = addUsage(this.#beside, usage)
  }

  get requests(): readonly RequestRecord[] {
    return [...this.#requests]
  }

  detail(): OperationDetail {
    const waited = { reported: this.#reported, waits: this.#waits, waited: this.#waited }
    return {
      ...this.#known,
      requests: [...this.#requests],
      ...(this.#beside !== null || this.#known.beside != null ? { beside: this.#beside } : {}),
      ...((this.#waits > 0 || this.#reported > 0) && waited),
    }
  }

  #end(outcome: Pick<RequestRecord, 'usage' | 'error'>): void {
    const took = Math.round(performance.now() - this.#began)
    this.#requests[this.#requests.length - 1] = { ...this.#newest(), ...outcome, took }
    this.#isOpen = false
  }

  #newest(): RequestRecord {
    const newest = this.#requests.at(-1)
    if (newest === undefined) throw new Error('Expected a request that has begun, found none.')
    return newest
  }
}

/** The prices of a plan's model, or those that a request was begun with; null where one is unknown. */
export function pricesOf(known: Partial<Prices> = {}): Prices {
  const { inputPrice = null, outputPrice = null, cachedPrice = null, longInput } = known
  return { inputPrice, outputPrice, cachedPrice, ...(longInput !== undefined && { longInput }) }
}

/**
 * The tokens and cost of one request. Prices are dollars per million tokens, so tokens times price are millionths of
 * a dollar. Cached tokens are part of the input. The cost is null if a price is unknown.
 */
function usageOf(prices: Prices, usage: ModelUsage): Usage {
  return { ...usage, cost: costOf(prices, usage) }
}

/** The usage of several requests; null if none of them has any. One unknown cost makes the sum unknown. */
export function sumUsage(requests: readonly RecordedRequest[]): Usage | null {
  return requests.reduce<Usage | null>(
    (sum, { usage }) => (usage === null ? sum : addUsage(sum, usage)),
    null,
  )
}

export function addUsage(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + usage.cachedInputTokens,
    cost: sum.cost === null || usage.cost === null ? null : sum.cost + usage.cost,
  }
}

function costOf({ longInput, ...base }: Prices, usage: ModelUsage): number | null {
  const isLong = longInput !== undefined && usage.inputTokens > longInput.above
  const { inputPrice, outputPrice, cachedPrice } = isLong ? longInput : base
  if (inputPrice === null || outputPrice === null) return null
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens)
  const input = (usage.inputTokens - cached) * inputPrice + cached * (cachedPrice ?? inputPrice)
  return Math.round(input + usage.outputTokens * outputPrice)
}
