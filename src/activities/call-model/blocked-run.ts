import type { CallModelAnswer, CallModelInput, EndAnswer } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import type { Writer } from '../../store/store.js'
import { OperationLost, commitHeld } from '../commit.js'
import type { ActivityDependencies } from '../dependencies.js'
import { promptOf } from '../plan-content.js'
import { missingVariables } from '../variables/missing-variables.js'
import type { RequiredVariables } from '../variables/missing-variables.js'
import {
  endVariablesRequests,
  openVariablesRequest,
  openVariablesRequests,
} from '../variables/variables-request.js'
import { lastFacts } from './answer-facts.js'
import { newPlan } from './drain-step.js'
import { microseconds, operationOf, operationsOf, stepScope } from './model-step.js'
import type { HeldOperation } from './model-step.js'
import { withOperations } from './with-operations.js'

interface DrainedStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly held: HeldOperation
}

/**
 * Behind the drain and before any model: a run whose prompt lacks a variable that it requires ends here, its messages in
 * the transcript, and asks for it. Null: it goes on. The first step of a run also ends what earlier runs asked for.
 */
export async function blockedRun(
  dependencies: ActivityDependencies,
  step: DrainedStep,
): Promise<CallModelAnswer | null> {
  const { store } = dependencies
  const { input, content } = step
  // A nested step runs in a run that was looked at with all its prompts.
  if (input.frame !== null) return null
  const { threadId, agent, side } = input
  const prompt = promptOf(content, side).name
  const variables = await missingVariables(dependencies, { threadId, agent, content, prompt })
  const now = microseconds(input)
  const requests = input.trigger === null ? [] : await store.read((db) => openVariablesRequests(db, threadId))
  if (variables.missing.length > 0)
    return commitHeld(store, operationOf(input), async (tx) => {
      await endVariablesRequests(tx, { threadId, requests, decision: 'closed', now })
      return endBlocked(tx, step, variables)
    })
  if (requests.length > 0)
    await store.write((tx) => endVariablesRequests(tx, { threadId, requests, decision: 'supplied', now }))
  return null
}

async function endBlocked(
  tx: Writer,
  { input, content, held }: DrainedStep,
  variables: RequiredVariables,
): Promise<EndAnswer> {
  const { threadId, agent, run } = input
  const now = microseconds(input)
  const id = await openVariablesRequest(tx, { threadId, run }, { ...variables, agent, now })
  const blocked: EndAnswer = {
    type: 'end',
    reason: 'blocked',
    outcome: 'blocked',
    request: { id, kind: 'variables' },
    ...newPlan(input, content),
  }
  const answer = withOperations(blocked, operationsOf(held))
  const { attempt } = held
  if (!(await finishOperation(tx, { ...operationOf(input), attempt, answer, now }))) throw new OperationLost()
  await appendEvents(tx, { threadId, events: restOfStep(input), now })
  return answer
}

/** A step that ends before its model call still gets all of its events. */
function restOfStep(input: CallModelInput): readonly Fact[] {
  const scope = stepScope(input)
  return [...([2, 3, 4] as const).map((phase) => phaseFact(phase, scope)), ...lastFacts({ input }, 'blocked')]
}
