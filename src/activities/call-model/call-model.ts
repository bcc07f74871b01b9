/**
 * Phases 1 to 4 of a step in one activity: drain, assemble context, call the model, persist its answer. Three short
 * transactions, none held across the network: drain, start, commit (T2, T4). A retry finds the drain done; a finished
 * operation is answered from its row.
 */
import type { CallModelAnswer, CallModelInput, Frame } from '../../protocol/activities.js'
import { ModelAbortedError } from '../../model/model-aborted-error.js'
import { assertStoppedByUser, whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { withVariables } from '../variables/render-system.js'
import { blockedRun } from './blocked-run.js'
import { promptNamed, promptOf } from '../plan-content.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { RequestBlocked, requestHooks } from '../hooks/request-hooks.js'
import { stepBatch } from '../hooks/step-batch.js'
import { askModels } from './ask-models.js'
import type { Reply } from './ask-models.js'
import { beginRun } from './begin-run.js'
import { buildRequest } from './build-request.js'
import { candidatesOf } from './candidates.js'
import { commitAnswer, commitBlocked, commitFailure, commitInterruption } from './commit-answer.js'
import { commitWait } from './commit-wait.js'
import { writeDeltas } from './delta-writer.js'
import { drainStep } from './drain-step.js'
import { activate } from './immediates/activate.js'
import { movedModel } from './moved-model.js'
import { notRegistered } from './model-failure.js'
import { openStep, operationOf } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { withOfferedTools } from './offered-tools.js'
import { waitBeforeNext } from './provider-patience.js'
import { openFrame } from './open-frame.js'
import type { FrameMessage } from './request-context.js'
import { systemText } from './system-text.js'

export async function callModel(
  dependencies: ActivityDependencies,
  asked: CallModelInput,
): Promise<CallModelAnswer> {
  return whileBeating(async (signal) => {
    const { toolFirst, frame, activated } = asked
    if (toolFirst) return beginRun(dependencies, asked)
    if (frame !== null) return callInFrame(dependencies, { ...asked, frame }, signal)
    const moved = await movedModel(dependencies, asked)
    if (moved !== null) return moved
    const activates = activated ? null : await activate(dependencies, asked, signal)
    if (activates !== null) return activates
    const drained = await drainStep(dependencies, asked)
    if (drained.kind === 'answered') return drained.answer
    const { content, input } = drained
    const blocked = await blockedRun(dependencies, { input, content, held: drained.held })
    if (blocked !== null) return blocked
    const prompt = await resolved(dependencies, input, { content, prompt: promptOf(content, input.side) })
    const hooks = hooksOf(dependencies, { input, content, prompt, path: [] })
    const step = openStep({ ...drained, prompt, parentId: null, hooks })
    return callProviders(dependencies, step, { frameMessage: null, signal })
  })
}

async function callInFrame(
  dependencies: ActivityDependencies,
  asked: CallModelInput & { readonly frame: Frame },
  signal: AbortSignal,
): Promise<CallModelAnswer> {
  const opened = await openFrame(dependencies, asked)
  if (opened.kind === 'answered') return opened.answer
  const { message: frameMessage, parentId } = opened.frame
  const { input, content } = opened
  const listed = promptNamed(content, asked.frame.prompt)
  const prompt = await resolved(dependencies, input, { content, prompt: listed })
  const path = [promptOf(content, input.side).name]
  const hooks = hooksOf(dependencies, { input, content, prompt, path })
  const step = openStep({ ...opened, prompt, parentId, hooks })
  return callProviders(dependencies, step, { frameMessage, signal })
}

/** With the words of its variables, and the tools that their flags allow. */
async function resolved(
  dependencies: ActivityDependencies,
  { threadId, agent }: CallModelInput,
  { content, prompt }: Pick<ModelStep, 'content' | 'prompt'>,
): Promise<ModelStep['prompt']> {
  const scope = { threadId, agent, content }
  return withOfferedTools(dependencies, scope, await withVariables(dependencies, scope, prompt))
}

interface Hooked extends Pick<ModelStep, 'input' | 'content' | 'prompt'> {
  /** The prompts above it. */
  readonly path: readonly string[]
}

function hooksOf(dependencies: ActivityDependencies, { input, content, prompt, path }: Hooked): HookBatch {
  const promptPath = [...path, prompt.name]
  const { id: name } = operationOf(input)
  return stepBatch(dependencies, {
    input,
    content,
    ids: prompt.hooks,
    promptPath,
    name,
    recordsMissing: true,
  })
}

interface Call {
  readonly frameMessage: FrameMessage | null
  readonly signal: AbortSignal
}

async function callProviders(
  dependencies: ActivityDependencies,
  step: ModelStep,
  { frameMessage, signal }: Call,
): Promise<CallModelAnswer> {
  const { store, registry } = dependencies
  const { input, content, prompt } = step
  const candidates = candidatesOf(registry, step)
  if (candidates.length === 0) return commitFailure(dependencies, step, [notRegistered(prompt.model)])
  const hooks = requestHooks(step.hooks, input)
  const system = await hooks.afterSystemMessage(systemText(prompt.system))
  const build = (model: string, cuts: number) =>
    buildRequest({ store, input, content, prompt, model, cuts, system, frameMessage, hooks })
  const deltas = writeDeltas(store, step)
  try {
    const reply = await askModels(dependencies, { step, candidates, build, deltas, signal })
    await deltas.done()
    return await commitReply(dependencies, step, reply)
  } catch (error) {
    await deltas.done()
    if (error instanceof RequestBlocked) return commitBlocked(store, step, error)
    if (!ModelAbortedError.isInstance(error)) throw error
    assertStoppedByUser()
    return commitInterruption(store, step, error.partial)
  }
}

async function commitReply(
  dependencies: ActivityDependencies,
  step: ModelStep,
  reply: Reply,
): Promise<CallModelAnswer> {
  const { store } = dependencies
  if ('answer' in reply) return commitAnswer(store, step, reply)
  const { failures } = reply
  const wait = await waitBeforeNext(store, step, failures)
  return wait === null ? commitFailure(dependencies, step, failures) : commitWait(store, step, wait)
}
