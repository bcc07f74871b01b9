import type { ModelDefinition } from '../model.js'

/** US dollars per million tokens; null: unknown. */
export interface Prices {
  readonly inputPrice: number | null
  readonly outputPrice: number | null
  /** For input that the provider read from its cache; null: as other input. */
  readonly cachedPrice: number | null
  /** For the whole request, if its input has more than `above` tokens. */
  readonly longInput?: LongInputPrices
}

interface LongInputPrices {
  readonly above: number
  readonly inputPrice: number
  readonly outputPrice: number
  readonly cachedPrice: number | null
}

/** Finds the prices of a model. */
export type PriceList = (model: ModelDefinition) => Prices

/** The prices of a definition alone. Processes without a worker use them: they load no table and create no model. */
export const definedPrices: PriceList = ({ inputPrice, outputPrice, cachedPrice }) => ({
  inputPrice: inputPrice ?? null,
  outputPrice: outputPrice ?? null,
  cachedPrice: cachedPrice ?? null,
})
