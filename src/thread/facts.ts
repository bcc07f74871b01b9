/**
 * Facts of the event log that the workflow decides, which the next activity stores; among them the end of a turn and a handoff.
 *
 * It owns: which facts wait, which were sent without an answer, how many did not fit, and the end of a turn that no step was
 * judged for. It does not own: facts that activities store by themselves, and turns that end with a step (`advance.ts`).
 * Invariants: a fact is stored once. One whose activity gave no answer is sent again with the time at which it was sent, by
 * which an activity finds it in the log. Beyond a bound facts are counted and no longer kept (T10). The log has one end of
 * each turn that has begun.
 */
import type { ActivityInput } from '../protocol/activities.js'
import type { WarningCode } from '../protocol/event-codes.js'
import type { EventScope } from '../protocol/events.js'
import { fact, phaseFact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { QueueChange } from '../protocol/payloads/queue.js'
import type { Side } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import { utf8Length } from '../protocol/values.js'
import type { ThreadControl } from './control.js'
import { restartTurn } from './run.js'
import type { Step } from './run.js'

/** Keeps facts for the next activity; beyond the bounds they are counted only. */
export function withFacts(control: ThreadControl, ...facts: readonly Fact[]): ThreadControl {
  const waiting = [...control.unansweredFacts.flatMap((sent) => sent.facts), ...control.facts]
  const fitting = facts.filter((_fact, index) => fits([...waiting, ...facts.slice(0, index + 1)]))
  return {
    ...control,
    facts: [...control.facts, ...fitting],
    factsDropped: control.factsDropped + facts.length - fitting.length,
  }
}

/** What happens to the queue, beside the number of items that wait then. */
type QueueNews = Omit<QueueChange, 'waiting' | 'unlisted'>

/**
 * Keeps what happened to the queue. Changes that wait for the same activity are one fact; where their ids do not fit, it has their
 * number.
 */
export function withQueueChange(control: ThreadControl, news: QueueNews): ThreadControl {
  const earlier = control.facts.find(isQueueChange)
  const others = { ...control, facts: control.facts.filter((fact) => fact !== earlier) }
  const change = { waiting: control.queue.length, ...news }
  const merged = earlier === undefined ? change : mergeQueueChanges(earlier.payload, change)
  const told = withFacts(others, fact('queue.changed', merged))
  if (told.factsDropped === control.factsDropped) return told
  const { waiting } = merged
  return withFacts(others, fact('queue.changed', { waiting, unlisted: countChanges(merged) }))
}

/** The lists of a change of the queue. */
const LISTS = ['added', 'taken', 'removed', 'promoted'] as const

function mergeQueueChanges(earlier: QueueChange, later: QueueChange): QueueChange {
  const unlisted = (earlier.unlisted ?? 0) + (later.unlisted ?? 0)
  const merged = LISTS.flatMap((list) => {
    const both = [...(earlier[list] ?? []), ...(later[list] ?? [])]
    return both.length === 0 ? [] : [[list, both] as const]
  })
  return {
    waiting: later.waiting,
    ...Object.fromEntries(merged),
    ...(unlisted > 0 && { unlisted }),
  }
}

function countChanges(change: QueueChange): number {
  return LISTS.reduce((sum, list) => sum + (change[list]?.length ?? 0), change.unlisted ?? 0)
}

/** The rest of a merged change whose first part was stored; null: that was all of it. */
function withoutStored(change: QueueChange, stored: QueueChange): QueueChange | null {
  const left = countChanges(change) - countChanges(stored)
  if (left === 0) return null
  // Its ids did not fit any more, and are all in its number.
  const isShortened = (change.unlisted ?? 0) > (stored.unlisted ?? 0)
  const rest = LISTS.flatMap((list) => {
    const all = change[list] ?? []
    const ids = isShortened ? all : all.slice(stored[list]?.length ?? 0)
    return ids.length === 0 ? [] : [[list, ids] as const]
  })
  const listed = rest.reduce((sum, [, ids]) => sum + ids.length, 0)
  return {
    waiting: change.waiting,
    ...Object.fromEntries(rest),
    ...(left > listed && { unlisted: left - listed }),
  }
}

function fits(facts: readonly Fact[]): boolean {
  if (facts.length > LIMITS.waitingFacts) return false
  return utf8Length(JSON.stringify(facts)) <= LIMITS.waitingFactBytes
}

function isQueueChange(fact: Fact): fact is Fact<'queue.changed'> {
  return fact.type === 'queue.changed'
}

/** What the next activity stores. */
export function factsToSend(control: ThreadControl): Pick<ActivityInput, 'facts' | 'unansweredFacts'> {
  const { unansweredFacts } = control
  return { facts: listFacts(control), ...(unansweredFacts.length > 0 && { unansweredFacts }) }
}

/** With a warning if some did not fit. */
function listFacts(control: ThreadControl): readonly Fact[] {
  if (control.factsDropped === 0) return control.facts
  const dropped = fact('runtime.warning', { code: 'facts_dropped', count: control.factsDropped })
  return [...control.facts, dropped]
}

/** Whether an activity with this answer has stored the facts of its input; if not, the next one stores them. */
export function hasStored(answer: { readonly type: string; readonly storedNothing?: true }): boolean {
  return answer.type !== 'terminated' && answer.type !== 'moved' && answer.storedNothing !== true
}

/** Forgets the facts that an activity has stored: those of the state in which it was sent. Later ones wait for the next. */
export function forgetSentFacts(control: ThreadControl, sent: ThreadControl): ThreadControl {
  const stored = new Set(sent.facts)
  const answered = new Set(sent.unansweredFacts)
  const storedChange = sent.facts.find(isQueueChange)
  return {
    ...control,
    facts: control.facts.filter((fact) => !stored.has(fact)).flatMap((kept) => restOf(kept, storedChange)),
    factsDropped: control.factsDropped - sent.factsDropped,
    unansweredFacts: control.unansweredFacts.filter((earlier) => !answered.has(earlier)),
  }
}

/** What is left of a fact: a change of the queue may have grown since it was sent. */
function restOf(kept: Fact, stored: Fact<'queue.changed'> | undefined): readonly Fact[] {
  if (stored === undefined || !isQueueChange(kept)) return [kept]
  const rest = withoutStored(kept.payload, stored.payload)
  return rest === null ? [] : [fact('queue.changed', rest)]
}

/** Keeps the facts of an activity that was sent at this time, in this state, and gave no answer. */
export function keepUnansweredFacts(control: ThreadControl, sent: ThreadControl, now: Millis): ThreadControl {
  const facts = listFacts(sent)
  if (facts.length === 0) return control
  const unansweredFacts = [...control.unansweredFacts, { now, facts }]
  return { ...forgetSentFacts(control, { ...sent, unansweredFacts: [] }), unansweredFacts }
}

/** Records something that was skipped, by a code and a sentence without content (T10). */
export function withWarning(control: ThreadControl, code: WarningCode, message: string): ThreadControl {
  return withFacts(control, fact('runtime.warning', { code, message }))
}

/** The end of a turn; only the end of a judged step belongs to that step. */
export function sideCompletedFact(scope: EventScope, side: Side, reason: string | null): Fact {
  return fact('side.completed', { side, reason }, scope)
}

/** Ends the turn under way where another side or agent acts next and no judged step has ended it. */
export function leaveTurn(control: ThreadControl, reason: string | null): ThreadControl {
  const { run } = control
  if (run === null || run.turn.kind === 'starting') return control
  return {
    ...withFacts(control, sideCompletedFact({ runId: runIdOf(run.number) }, run.side, reason)),
    run: { ...run, turn: restartTurn(run.turn) },
  }
}

/** The new agent acts next, with a turn of its own; its plan comes with its first model call. */
export function switchAgent(control: ThreadControl, agent: string, side: Side): ThreadControl {
  const { run } = control
  const next = { ...control, agent, plan: null, activated: [] }
  if (run === null) return next
  return {
    ...next,
    run: { ...run, side, planning: 'unknown', turn: { kind: 'starting', wordless: false } },
  }
}

/** Every step has all seven phases, in order, also if it was interrupted. */
export function listRemainingPhases(step: Step, scope: EventScope): Fact[] {
  return ([5, 6, 7] as const).filter((phase) => phase > step.phase).map((phase) => phaseFact(phase, scope))
}
