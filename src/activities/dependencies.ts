import type { Registry } from '../definitions/registry.js'
import type { ModelLimits } from '../model/model-limits.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'
import type { FailureText } from '../definitions/failure-text.js'

/** What a worker gives to its activities. */
export interface ActivityDependencies {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  /** Values of variables for every thread of this worker. */
  readonly env?: Readonly<Record<string, string>>
  /** What end users read where a run ends without an answer. @default the runtime's own sentences */
  readonly failureText?: FailureText | undefined
  /** @default MODEL_LIMITS */
  readonly modelLimits?: ModelLimits
}
