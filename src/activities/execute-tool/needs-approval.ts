import { LIMITS } from '../../protocol/limits.js'
import { assertStoppedByUser } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { bounded } from './bounded.js'
import type { FunctionCall } from './execute-function.js'
import { openCallState } from './open-call-state.js'

interface Verdict {
  readonly asks: boolean
  /** Why the tool's own check gave no answer. */
  readonly problem: Thrown | null
}

const NO: Verdict = { asks: false, problem: null }
const YES: Verdict = { asks: true, problem: null }

/**
 * Whether a person has to allow a call. Fails closed: a check that throws, that hangs, or that answers anything but false
 * asks. What it writes to the thread is not kept.
 */
export async function needsApproval(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
  args: Record<string, unknown>,
): Promise<Verdict> {
  const { needsApproval: check = false } = calling.tool
  if (check === false) return NO
  if (typeof check !== 'function') return YES
  const abort = new AbortController()
  const { signal } = calling
  const { state, redactor, close } = await openCallState(dependencies, calling, abort.signal)
  // `args` were parsed by the tool's own schema.
  const bounds = { timeout: LIMITS.approvalCheck, signal, abort }
  const checked = await bounded(() => check(state, args as never), bounds)
  close()
  switch (checked.kind) {
    case 'answered':
      return checked.value === false ? NO : YES
    case 'threw':
      return { asks: true, problem: readThrown(redactor.redactThrown(checked.error)) }
    case 'timed_out':
      return {
        asks: true,
        problem: readThrown(new Error(`It did not answer within ${LIMITS.approvalCheck / 1000} s.`)),
      }
    case 'stopped':
      assertStoppedByUser()
      // The call begins, and ends at once as interrupted.
      return NO
  }
}
