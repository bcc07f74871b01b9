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
import type { StoredBudgets } from '../../store/budgets/subjects.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import type { Micros } from '../../protocol/time.js'
import type { ActivityDependencies } from '../activity.js'
import { unstoredFacts } from '../operation.js'
import { callScope, microseconds } from '../scope.js'
import type { HeldInput } from '../scope.js'
import { readScheduledTime } from '../temporal-activity.js'
import { charge, foundToolLimits } from './charge.js'
import type { OverBudget } from './charge.js'
import type { ChargedCall } from './count-call.js'
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

/** The answer of an activity whose call must not begin now. */
type HeldBack = EndAnswer | PendingAnswer | WaitAnswer

/**
 * Charges a call. Returns the answer of its activity if it must not begin now; null: it may. Calls that code or a client has queued are
 * not charged.
 */
export async function chargeTool(
  { dependencies, content }: ChargedTool,
  input: HeldInput,
  response: RequestResponse | null,
): Promise<HeldBack | null> {
  const { store, budgets: worker } = dependencies
  const { threadId, run } = input
  const sources = { worker, agent: content.budget, stored: 'unread' } as const
  if (foundToolLimits(threadId) !== true) {
    const { ofTools } = await store.read((db) => readSubjects(db, { threadId, run }, sources))
    if (ofTools.length === 0) return null
  }
  const place = { threadId, now: microseconds(input), scope: callScope(input) }
  const taken = await takeAnswer(store, { ...place, response, operation: null })
  const stop = (over: OverBudget): Promise<HeldBack> => store.write((tx) => stopCall(tx, input, over))
  if (taken?.denied != null) return stop(taken.denied)
  const call = chargedCall(input, taken?.waitedSince)
  const outcome = await store.writeLocked((tx) => charge(tx, call, sources))
  // It holds nothing, and never waits for what others hold.
  return outcome.kind === 'over' ? stop(outcome.over) : null
}

/** The same, of a call that has waited for nobody, in the transaction that begins it: where the store locks no rows. */
export async function chargeToolWithin(
  tx: Writer,
  { dependencies: { budgets: worker }, content: { budget: agent } }: ChargedTool,
  { input, stored }: { readonly input: HeldInput; readonly stored: StoredBudgets },
): Promise<HeldBack | null> {
  const outcome = await charge(tx, chargedCall(input, undefined), { worker, agent, stored })
  return outcome.kind === 'over' ? stopCall(tx, input, outcome.over) : null
}

function chargedCall(input: HeldInput, waitedSince: Micros | undefined): ChargedCall {
  const { threadId, run, callId: operation } = input
  return {
    ...{ threadId, run, operation, number: 0, need: { kind: 'tool' }, waitedSince },
    ...{ scheduledAt: readScheduledTime(), now: microseconds(input), scope: callScope(input) },
  }
}

async function stopCall(tx: Writer, input: HeldInput, over: OverBudget): Promise<HeldBack> {
  const { threadId, run, callId } = input
  const now = microseconds(input)
  const call = { threadId, run, operation: callId, callId, scope: callScope(input), now }
  const { answer, events } = await stopAtBudget(tx, call, over)
  await appendEvents(tx, { threadId, events: [...(await unstoredFacts(tx, input)), ...events], now })
  return answer
}
