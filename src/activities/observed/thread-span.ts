import { ROOT_CONTEXT, SpanKind, context, trace } from '@opentelemetry/api'
import type { Attributes, Context, Link } from '@opentelemetry/api'
import { activityInfo } from '@temporalio/activity'

import type { ActivityInput, CallInput, CallModelInput, StepInput } from '../../protocol/activities.js'
import { ACTIVITIES } from '../../protocol/activities.js'
import type { Reader, Store } from '../../store/store.js'
import { traceOfCall, traceOfRun, tracesOfMessages } from '../../store/traces.js'
import type { NewSpan } from '../../telemetry/in-span.js'
import { withRunTrace } from '../../telemetry/run-trace.js'
import { readTraceparent } from '../../telemetry/traceparent.js'
import { isTracing } from '../../telemetry/tracer.js'

/** A step stands below the message that began its run; those that it takes on the way are linked. */
export async function stepSpan(store: Store, input: CallModelInput): Promise<NewSpan> {
  const { threadId, run: number, frame, drain } = input
  const taken = drain.flatMap((item) => (item.kind === 'message' ? [item.id] : []))
  const [parent = null, ...others] = await found(store, async (db) => {
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

/** A call stands below the step whose model asked for it, or below whoever queued it. */
export async function callSpan(store: Store, activity: string, input: CallInput): Promise<NewSpan> {
  const [parent = null] = await found(store, async (db) => [
    await traceOfCall(db, input.threadId, input.callId),
  ])
  const executes = activity === ACTIVITIES.executeTool
  return {
    name: executes ? `execute_tool ${input.name}` : activity,
    kind: SpanKind.INTERNAL,
    attributes: {
      ...stepAttributes(input),
      ...(executes && { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.type': 'function' }),
      // A name of the plan: any other is words of a model, and has not come here (T5).
      'gen_ai.tool.name': input.name,
      'gen_ai.tool.call.id': input.callId,
    },
    base: runBase(parent),
  }
}

/** All else that is done for a run. */
export async function runSpan(store: Store, activity: string, input: ActivityInput): Promise<NewSpan> {
  const { threadId, run: number } = input
  const [parent = null] = await found(store, async (db) => [await traceOfRun(db, { threadId, number })])
  return {
    name: activity,
    kind: SpanKind.INTERNAL,
    attributes: threadAttributes(input),
    base: runBase(parent),
  }
}

/** Nothing is read while nobody traces, and a store that cannot be read costs a trace its parent, no more. */
async function found(
  store: Store,
  read: (db: Reader) => Promise<readonly (string | null)[]>,
): Promise<readonly (string | null)[]> {
  return isTracing() ? store.read(read).catch(() => []) : []
}

/** Where what is done for a run stands. */
export function runBase(traceparent: string | null): Context {
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
