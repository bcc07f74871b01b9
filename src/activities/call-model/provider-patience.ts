/**
 * How long a run waits for its providers: each pause that one of them asks for, as long as all pauses of the run together
 * stay within the patience of its agent. What is waited for inside of a request, ten seconds at a time, is not counted.
 */
import { LIMITS } from '../../protocol/limits.js'
import { asksForPause } from '../../model/model-error.js'
import { withJitter } from '../../model/provider-pause.js'
import { waitedOf } from '../../store/runs.js'
import type { Store } from '../../store/store.js'
import type { FailedModel } from './model-failure.js'
import type { ModelStep } from './model-step.js'

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
