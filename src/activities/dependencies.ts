import type { Registry } from '../definitions/registry.js'
import type { ModelLimits } from '../model/model-limits.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'

/** What a worker gives to its activities. */
export interface ActivityDependencies {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  /** Values of variables for every thread of this worker. */
  readonly env?: Readonly<Record<string, string>>
  /** @default MODEL_LIMITS */
  readonly modelLimits?: ModelLimits
}
