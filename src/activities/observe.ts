/**
 * Telemetry of activities: a span for each attempt, counts, and log lines. It contains only ids, registered names,
 * numbers and texts of this runtime (T5).
 */
import { context, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import type { Attributes, Context, Link } from '@opentelemetry/api'

import type {
  ActivityInput,
  CallInput,
  CallModelAnswer,
  CallModelInput,
  CompleteCallAnswer,
  EndAnswer,
  ExecuteToolAnswer,
  PrepareChildAnswer,
  PrepareMessageAnswer,
  RunEffectAnswer,
  StepInput,
} from '../protocol/activities.js'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import type { DeliverReportAnswer, RunEnd, SettleAnswer, SettleInput } from '../protocol/end-activities.js'
import type { Reader, Store } from '../store/store.js'
import { findRun, traceOfCall, traceOfRun, tracesOfMessages } from '../store/threads/runs.js'
import type { RunRecord } from '../store/threads/runs.js'
import { instruments, isMetering } from '../telemetry/instruments.js'
import { failSpan, inSpan, isTracing, readTraceparent, tracer, withRunTrace } from '../telemetry/spans.js'
import type { NewSpan } from '../telemetry/spans.js'
import type { ActivityDependencies } from './activity.js'
import { activityInfo, log } from './temporal-activity.js'
import { toMillis } from '../protocol/time.js'

export async function observeStep(
  { store }: ActivityDependencies,
  input: CallModelInput,
  work: () => Promise<CallModelAnswer>,
): Promise<CallModelAnswer> {
  const answer = await runInSpan(await stepSpan(store, input), work)
  const agent = { 'gen_ai.agent.name': input.agent }
  if (input.frame === null) instruments().steps.add(1, { ...agent, 'everthread.answer': answer.type })
  if (answer.type === 'wait') countWait(answer)
  if (answer.type === 'end' && answer.request !== undefined)
    instruments().waits.add(1, { 'everthread.wait': answer.request.kind })
  return answer
}

function countWait({ cause = 'provider' }: { readonly cause?: string }): void {
  instruments().waits.add(1, { 'everthread.wait': cause })
}

/** Observes `executeTool` and the activities that prepare or complete a call. */
export async function observeCall<Answer extends ObservedAnswer>(
  { store }: ActivityDependencies,
  { activity, input }: { readonly activity: string; readonly input: CallInput },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const began = performance.now()
  const answer: ObservedAnswer = await runInSpan(await callSpan(store, activity, input), work)
  const tool = { 'gen_ai.tool.name': input.name }
  if (answer.type === 'pending') instruments().waits.add(1, { 'everthread.wait': answer.kind })
  if (answer.type === 'wait') countWait(answer)
  if (answer.type === 'result') {
    const milliseconds = Math.round(performance.now() - began)
    const { outcome } = answer
    instruments().toolCalls.add(1, { ...tool, 'everthread.outcome': outcome })
    if (activity === ACTIVITIES.executeTool)
      instruments().toolSeconds.record(milliseconds / 1000, {
        ...tool,
        ...(outcome !== 'succeeded' && { 'error.type': outcome }),
      })
    log.debug('A tool call ended.', { tool: input.name, outcome, milliseconds })
  }
  return answer as Answer
}

/** Observes all other activities of a run. */
export async function observeWork<Answer extends ObservedAnswer>(
  { store }: ActivityDependencies,
  { activity, input }: { readonly activity: string; readonly input: ActivityInput },
  work: () => Promise<Answer>,
): Promise<Answer> {
  return runInSpan(await runSpan(store, activity, input), work)
}

function runInSpan<Answer extends ObservedAnswer>(
  span: NewSpan,
  work: () => Promise<Answer>,
): Promise<Answer> {
  return inSpan(span, async (current) => {
    const answer = await work()
    const problem = activityProblem(answer)
    if (problem !== null && current !== null) failSpan(current, problem)
    return answer
  })
}

/**
 * Many processes work on a run, which may take weeks, so its span is created when it ends. It is a sibling of the
 * spans of its steps, not their parent, because its id did not exist before.
 */
export async function observeSettle(
  { store }: ActivityDependencies,
  input: SettleInput,
  work: () => Promise<SettleAnswer>,
): Promise<SettleAnswer> {
  const answer = await work()
  const { end, threadId, run: number } = input
  if (end === null) return answer
  const { reason, outcome, steps, usage } = end
  log.info('A run ended.', { reason, outcome, steps, ...usage })
  if (!isTracing() && !isMetering()) return answer
  const run = await store.read((db) => findRun(db, { threadId, number })).catch(() => null)
  if (run !== null) recordRun(input, end, run)
  return answer
}

function recordRun(input: SettleInput, end: RunEnd, run: RunRecord): void {
  // Both times are from the workflow's clock.
  const startTime = toMillis(run.started_at)
  const agent = { 'gen_ai.agent.name': input.snapshot.agent }
  const failed = end.outcome !== 'completed'
  instruments().runSeconds.record(Math.max(0, input.now - startTime) / 1000, {
    ...agent,
    'everthread.reason': end.reason,
    ...(failed && { 'error.type': end.reason }),
  })
  const span = tracer().startSpan(
    `invoke_agent ${input.snapshot.agent}`,
    { kind: SpanKind.INTERNAL, startTime, attributes: { ...agent, ...runAttributes(input, end) } },
    runBase(run.traceparent),
  )
  if (failed) failSpan(span, end.reason)
  span.end(Math.max(startTime, input.now))
}

function runAttributes({ threadId, run }: SettleInput, { reason, steps, usage }: RunEnd): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': threadId,
    'everthread.run': run,
    'everthread.reason': reason,
    'everthread.steps': steps,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
  }
}

/**
 * The span of a step is a child of the span of the message that began its run, and links to the messages that it
 * drains.
 */
async function stepSpan(store: Store, input: CallModelInput): Promise<NewSpan> {
  const { threadId, run: number, frame, drain } = input
  const taken = drain.flatMap((item) => (item.kind === 'message' ? [item.id] : []))
  const [parent = null, ...others] = await readTraces(store, async (db) => {
    if (frame !== null) return [await traceOfCall(db, threadId, frame.callId)]
    const began = await traceOfRun(db, { threadId, number })
    const messages = await tracesOfMessages(db, threadId, taken)
    return began === null ? messages : [began, ...messages.filter((trace) => trace !== began)]
  })
  return {
    name: ACTIVITIES.callModel,
    kind: taken.length > 0 ? SpanKind.CONSUMER : SpanKind.INTERNAL,
    attributes: {
      ...stepAttributes(input),
      ...(frame !== null && { 'gen_ai.tool.call.id': frame.callId }),
    },
    links: others.flatMap(linkTo),
    base: runBase(parent),
  }
}

/**
 * The span of a call is a child of the span of the step whose model requested it, or of the caller that queued it.
 */
async function callSpan(store: Store, activity: string, input: CallInput): Promise<NewSpan> {
  const [parent = null] = await readTraces(store, async (db) => [
    await traceOfCall(db, input.threadId, input.callId),
  ])
  const executes = activity === ACTIVITIES.executeTool
  return {
    name: executes ? `execute_tool ${input.name}` : activity,
    kind: SpanKind.INTERNAL,
    attributes: {
      ...stepAttributes(input),
      ...(executes && { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.type': 'function' }),
      // Only names of the plan arrive here: any other name is text of a model (T5).
      'gen_ai.tool.name': input.name,
      'gen_ai.tool.call.id': input.callId,
    },
    base: runBase(parent),
  }
}

/** The span of any other activity is a child of the trace of its run. */
async function runSpan(store: Store, activity: string, input: ActivityInput): Promise<NewSpan> {
  const { threadId, run: number } = input
  const [parent = null] = await readTraces(store, async (db) => [await traceOfRun(db, { threadId, number })])
  return {
    name: activity,
    kind: SpanKind.INTERNAL,
    attributes: threadAttributes(input),
    base: runBase(parent),
  }
}

/**
 * Does not read the store while tracing is off. If the store cannot be read, only the parent of the span is missing.
 */
async function readTraces(
  store: Store,
  read: (db: Reader) => Promise<readonly (string | null)[]>,
): Promise<readonly (string | null)[]> {
  return isTracing() ? store.read(read).catch(() => []) : []
}

/** The context of the spans of a run. */
function runBase(traceparent: string | null): Context {
  const parent = readTraceparent(traceparent)
  if (parent === null || traceparent === null) return context.active()
  return withRunTrace(trace.setSpanContext(ROOT_CONTEXT, parent), traceparent)
}

function linkTo(traceparent: string | null): readonly Link[] {
  const linked = readTraceparent(traceparent)
  return linked === null ? [] : [{ context: linked }]
}

function threadAttributes({ threadId, run }: ActivityInput): Attributes {
  return {
    'gen_ai.conversation.id': threadId,
    'everthread.run': run,
    'everthread.attempt': activityInfo().attempt,
  }
}

function stepAttributes(input: StepInput): Attributes {
  const { agent, step, side } = input
  return {
    ...threadAttributes(input),
    'gen_ai.agent.name': agent,
    'everthread.step': step,
    'everthread.side': side,
  }
}

/** An answer of any activity. */
type ObservedAnswer =
  | CallModelAnswer
  | ExecuteToolAnswer
  | CompleteCallAnswer
  | PrepareChildAnswer
  | PrepareMessageAnswer
  | DeliverReportAnswer
  | RunEffectAnswer

/** The reason why an answer is not a success, as an identifier of this runtime; null if it is a success. */
function activityProblem(answer: ObservedAnswer): string | null {
  switch (answer.type) {
    case 'result':
      return answer.outcome === 'succeeded' ? null : answer.outcome
    case 'refused':
      return answer.result.outcome === 'succeeded' ? null : answer.result.outcome
    case 'end':
      return endProblem(answer)
    case 'interrupted':
    case 'terminated':
    case 'parent_gone':
      return answer.type
    default:
      return null
  }
}

function endProblem({ outcome, reason }: EndAnswer): string | null {
  return outcome === 'completed' ? null : reason
}
