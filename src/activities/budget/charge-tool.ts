/**
 * The charge of a call that a model has made: of a tool, an agent, a prompt, or a handoff.
 * Owns: which calls are charged, and the answer of one that does not fit.
 * Does not own: the charge itself (`charge.ts`), and the beginning of the call (`tool/held-call.ts`).
 */
import { limitsOf } from '../../policy/budget.js'
import { limitTools } from '../../policy/budget-judgement.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { EndAnswer, PendingAnswer, RequestResponse, WaitAnswer } from '../../protocol/activities.js'
import { readSubjects } from '../../store/budgets/subjects.js'
import { appendEvents } from '../../store/events.js'
import type { ActivityDependencies } from '../activity.js'
import { unstoredFacts } from '../operation.js'
import { callScope, microseconds } from '../scope.js'
import type { HeldInput } from '../scope.js'
import { readScheduledTime } from '../temporal-activity.js'
import { chargeCall, foundToolLimits } from './charge.js'
import type { OverBudget } from './charge.js'
import { stopAtBudget, takeAnswer } from './over-budget.js'

/** What a call needs to be charged. */
export interface ChargedTool {
  readonly dependencies: Pick<ActivityDependencies, 'store' | 'budgets'>
  readonly content: PlanContent
}

/** Whether the budgets of worker or agent limit calls of tools. */
export function limitsTools({ dependencies: { budgets = {} }, content: { budget } }: ChargedTool): boolean {
  const { run, thread, tree } = budgets
  return limitTools(limitsOf([run, thread, tree, budget]))
}

/**
 * Charges a call. Returns the answer of its activity if it must not begin now; null: it may. Calls that code or a client has queued are
 * not charged.
 */
export async function chargeTool(
  { dependencies, content }: ChargedTool,
  input: HeldInput,
  response: RequestResponse | null,
): Promise<EndAnswer | PendingAnswer | WaitAnswer | null> {
  const { store, budgets: worker } = dependencies
  const { threadId, run, callId } = input
  const defined = { worker, agent: content.budget }
  if (foundToolLimits(threadId) !== true) {
    const { subjects } = await store.read((db) => readSubjects(db, { threadId, run }, defined))
    if (!limitTools(subjects.flatMap(({ limits }) => limits))) return null
  }
  const now = microseconds(input)
  const scope = callScope(input)
  const taken = await takeAnswer(store, { threadId, now, scope, response, operation: null })
  const stop = (over: OverBudget): Promise<EndAnswer | PendingAnswer | WaitAnswer> =>
    store.write(async (tx) => {
      const call = { threadId, run, operation: callId, callId, scope, now }
      const { answer, events } = await stopAtBudget(tx, call, over)
      await appendEvents(tx, { threadId, events: [...(await unstoredFacts(tx, input)), ...events], now })
      return answer
    })
  if (taken?.denied != null) return stop(taken.denied)
  const call = {
    ...{ threadId, run, operation: callId, number: 0, need: { kind: 'tool' } as const },
    ...{ waitedSince: taken?.waitedSince, scheduledAt: readScheduledTime(), now, scope },
  }
  const outcome = await chargeCall(store, call, defined)
  // It holds nothing, and never waits for what others hold.
  return outcome.kind === 'over' ? stop(outcome.over) : null
}
