import { SpanKind } from '@opentelemetry/api'
import type { Attributes } from '@opentelemetry/api'
import { log } from '@temporalio/activity'

import type { RunEnd, SettleAnswer, SettleInput } from '../../protocol/end-activities.js'
import { findRun } from '../../store/runs.js'
import type { RunRecord } from '../../store/runs.js'
import { failSpan } from '../../telemetry/in-span.js'
import { instruments, isMetering } from '../../telemetry/instruments.js'
import { isTracing, tracer } from '../../telemetry/tracer.js'
import type { ActivityDependencies } from '../dependencies.js'
import { runBase } from './thread-span.js'

/**
 * A run is done by many processes and may take weeks, so its span is made when it ends: beside its steps, not above them,
 * for nobody could have known its id before.
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
  // Both by the workflow's clock.
  const startTime = run.started_at / 1000
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
