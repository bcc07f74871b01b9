/**
 * What operators see of activities: a span for each attempt, counts, and a line of the log. Ids, registered names, numbers
 * and our own words only (T5).
 */
import { log } from '@temporalio/activity'

import { ACTIVITIES } from '../../protocol/activities.js'
import type { ActivityInput, CallInput, CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { failSpan, inSpan } from '../../telemetry/in-span.js'
import type { NewSpan } from '../../telemetry/in-span.js'
import { instruments } from '../../telemetry/instruments.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activityProblem } from './activity-problem.js'
import type { ObservedAnswer } from './activity-problem.js'
import { callSpan, runSpan, stepSpan } from './thread-span.js'

export async function observeStep(
  { store }: ActivityDependencies,
  input: CallModelInput,
  work: () => Promise<CallModelAnswer>,
): Promise<CallModelAnswer> {
  const answer = await spanned(await stepSpan(store, input), work)
  const agent = { 'gen_ai.agent.name': input.agent }
  if (input.frame === null) instruments().steps.add(1, { ...agent, 'everthread.answer': answer.type })
  if (answer.type === 'wait') instruments().waits.add(1, { 'everthread.wait': 'provider' })
  if (answer.type === 'end' && answer.request !== undefined)
    instruments().waits.add(1, { 'everthread.wait': answer.request.kind })
  return answer
}

/** `executeTool`, and the activities that prepare or complete a call. */
export async function observeCall<Answer extends ObservedAnswer>(
  { store }: ActivityDependencies,
  { activity, input }: { readonly activity: string; readonly input: CallInput },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const began = performance.now()
  const answer: ObservedAnswer = await spanned(await callSpan(store, activity, input), work)
  const tool = { 'gen_ai.tool.name': input.name }
  if (answer.type === 'pending') instruments().waits.add(1, { 'everthread.wait': answer.kind })
  if (answer.type === 'wait') instruments().waits.add(1, { 'everthread.wait': 'provider' })
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

/** All else that is done for a run. */
export async function observeWork<Answer extends ObservedAnswer>(
  { store }: ActivityDependencies,
  { activity, input }: { readonly activity: string; readonly input: ActivityInput },
  work: () => Promise<Answer>,
): Promise<Answer> {
  return spanned(await runSpan(store, activity, input), work)
}

function spanned<Answer extends ObservedAnswer>(span: NewSpan, work: () => Promise<Answer>): Promise<Answer> {
  return inSpan(span, async (current) => {
    const answer = await work()
    const problem = activityProblem(answer)
    if (problem !== null && current !== null) failSpan(current, problem)
    return answer
  })
}
