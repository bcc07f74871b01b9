import { ActivityFailure, CancelledFailure, proxyActivities } from '@temporalio/workflow'
import { ACTIVITIES } from '../protocol/activities.js'
import type { ActivityInput, ThreadActivities } from '../protocol/activities.js'
import { hasFailureType } from '../protocol/failures.js'
import { leanInput } from '../protocol/lean-input.js'
import type { StoreAnswer } from '../protocol/thread-store.js'
import { activityFailed, resumedAnswered, storeFound } from '../thread/apply.js'
import type { ThreadControl } from '../thread/control.js'
import { factsSent, factsToSend, hasStored } from '../thread/facts.js'
import { answerMissed, operationsOf } from '../thread/unheard.js'
import { activityOptions } from './activity-options.js'
import type { CutBy, ThreadHost } from './thread-host.js'

type Name = keyof ThreadActivities
type Input<N extends Name> = Parameters<ThreadActivities[N]>[0]
type Answer<N extends Name> = Awaited<ReturnType<ThreadActivities[N]>> & StoreAnswer

interface Call<N extends Name> {
  readonly name: N
  /** The activity's own limit in milliseconds. */
  readonly limit: number
  /** Registered names only: it is shown in the Temporal UI. */
  readonly summary: string
  /** What cuts it: a stop and a terminate, only a terminate, or nothing. */
  readonly cutBy: CutBy | null
  /** @default the thread's own */
  readonly taskQueue?: string | null
  readonly input: Omit<Input<N>, keyof ActivityInput>
}

/** What came of an activity: its answer, a cut without one, or a failure for good. */
export type Called<N extends Name> =
  | { readonly kind: 'answered'; readonly answer: Answer<N> }
  | { readonly kind: 'cut' }
  | { readonly kind: 'failed' }

/** Runs one activity, with the waiting facts. No failure of an activity leaves here; anything else is a bug. */
export async function callActivity<N extends Name>(host: ThreadHost, call: Call<N>): Promise<Called<N>> {
  const { control } = host
  const facts = storesFacts(control, call.name) ? factsToSend(control) : []
  const base: ActivityInput = {
    level: host.level,
    threadId: control.threadId,
    ...(control.start.store !== undefined && { store: control.start.store }),
    now: Date.now(),
    run: control.run?.number ?? control.runs,
    facts,
  }
  host.startsAction(base.now)
  // The type of the input is that of the activity: `Call` took the common fields away, `base` gives them back.
  const input = { ...base, ...call.input } as Input<N>
  const start = (): Promise<Answer<N>> => doneInItsStore(host, call, input)
  try {
    const answer = await (call.cutBy === null ? start() : host.cancellable(start, call.cutBy))
    host.update((current) => storeFound(current, answer))
    if (facts.length > 0 && hasStored(answer))
      host.update((current) => factsSent(current, control.facts, control.factsDropped))
    if (resumes(call.name)) host.update(resumedAnswered)
    // An attempt before this one may have committed an outcome, of which nobody tells a thread that is terminated.
    if (answer.type === 'terminated')
      host.update((current) => answerMissed(current, operationsOf(call.name, input)))
    return { kind: 'answered', answer }
  } catch (error) {
    if (!(error instanceof CancelledFailure) && !(error instanceof ActivityFailure)) throw error
    host.update((current) => answerMissed(current, operationsOf(call.name, input)))
    if (error instanceof CancelledFailure) return { kind: 'cut' }
    return { kind: wasCut(host, call) ? 'cut' : 'failed' }
  }
}

/** Looking for children stores nothing, and neither does a step's activity that goes on after a wait. */
function storesFacts({ run }: ThreadControl, name: Name): boolean {
  if (name === 'checkChildren' || name === 'expireChild') return false
  return run?.resumed !== true || !resumes(name)
}

/** What may have asked for the wait; other activities may come in between. */
function resumes(name: Name): boolean {
  return name === 'callModel' || name === 'executeTool'
}

/**
 * Where only workers of other stores are, the thread waits, as it does where there is no worker at all: after the day that
 * Temporal tries for, the activity is scheduled anew. Each round leaves a few events, and nothing in it continues as new.
 */
async function doneInItsStore<N extends Name>(
  host: ThreadHost,
  call: Call<N>,
  input: Input<N>,
): Promise<Answer<N>> {
  for (;;) {
    try {
      return await scheduled(host, call, input)
    } catch (error) {
      if (wasCut(host, call) || !hasFailureType(error, 'Thread.OtherStore')) throw error
    }
  }
}

function scheduled<N extends Name>(host: ThreadHost, call: Call<N>, input: Input<N>): Promise<Answer<N>> {
  const { limit, summary, taskQueue = null } = call
  const options = activityOptions(host.control, { limit, summary, taskQueue })
  const activities =
    proxyActivities<Record<string, (input: Partial<Input<N>>) => Promise<Answer<N>>>>(options)
  const name = ACTIVITIES[call.name]
  const activity = activities[name]
  if (activity === undefined) throw new Error(`There is no activity ${call.name}.`)
  return activity(leanInput(name, input))
}

/** A worker that died while it was told to stop leaves a failure instead of an answer. */
function wasCut<N extends Name>(host: ThreadHost, call: Call<N>): boolean {
  const { terminating, run } = host.control
  if (call.cutBy === null) return false
  return terminating || (call.cutBy === 'stop' && run?.stopRequested === true)
}

/** A cut needs nothing: the state says why, and the settle closes what is open. A failure for good ends the run. */
export function notAnswered(host: ThreadHost, called: { readonly kind: 'cut' | 'failed' }): void {
  if (called.kind === 'failed') host.update(activityFailed)
}
