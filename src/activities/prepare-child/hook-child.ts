/**
 * Hooks of the parent's prompt see a child before its first message and before its parent's registry knows it. They run
 * before its rows are written, outside of any transaction; what they did to both threads is committed with them (T9).
 */
import type { PlanContent } from '../../definitions/plan-content.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { PrepareChildInput } from '../../protocol/child-activities.js'
import type { Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activePrompt } from '../execute-tool/active-prompt.js'
import { guardState } from '../hooks/guarded-state.js'
import { stepBatch } from '../hooks/step-batch.js'
import { openBufferedState } from '../thread-state/buffered-thread-state.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import type { Redactor } from '../variables/redactor.js'

interface Hooking {
  readonly input: PrepareChildInput
  readonly content: PlanContent
}

/** The hooks around all children of one call: they share one state of the parent, and so its bounds for one call. */
export interface ChildHooks {
  /** Answers what the hooks did to the child: to be written behind its row, before its first message. */
  readonly meet: (child: HookedChild) => Promise<(tx: Writer) => Promise<void>>
  readonly commitParent: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

interface HookedChild {
  readonly reference: string
  /** The child's. */
  readonly agent: string
}

const INSTEAD =
  'The subagent has not started yet: use injectMessage, setValue, setEnv or files, which it finds.'

const PARENT = 'The subagent has not started yet: its parent is the first state that the hook gets.'

/** What the child's workflow, which is not there yet, would have to be told, and what its parent has not registered. */
const REFUSED = {
  ...Object.fromEntries(
    ['queueMessage', 'queueTool', 'invokeTool', 'scheduleEffect', 'removeScheduledEffect', 'terminate'].map(
      (name) => [name, INSTEAD],
    ),
  ),
  ...Object.fromEntries(
    ['getParentThread', 'getChildThread', 'notifyParent', 'setStatus'].map((name) => [name, PARENT]),
  ),
}

/** Costs nothing where the prompt has no such hook. */
export function childHooks(dependencies: ActivityDependencies, hooking: Hooking): ChildHooks {
  const { input, content } = hooking
  const { name: prompt, hooks: ids } = activePrompt(content, input)
  const promptPath = input.promptPath.length === 0 ? [prompt] : input.promptPath
  // Ids of what the hooks write are made from it.
  const name = `child_${input.callId}`
  const batch = stepBatch(dependencies, { input, content, ids, promptPath, name, recordsMissing: true })
  return {
    async meet(child) {
      if (!batch.has('after_subagent_created')) return async () => undefined
      const { redactor } = await batch.state()
      const opened = await openChild(dependencies, { ...child, input, redactor })
      await batch.run('after_subagent_created', null, {
        ask: (execute, state) => {
          const label = `state of the subagent ${child.reference}`
          const abortSignal = new AbortController().signal
          return execute(state, guardState(opened.state, { label, abortSignal, refused: REFUSED }).state)
        },
      })
      await batch.settled()
      await opened.settled()
      return async (tx) => void (await opened.commit(tx))
    },
    commitParent: async (tx) => (await batch.commit(tx)).operations,
  }
}

/** Outside of any run: the child has had none. */
async function openChild(
  dependencies: ActivityDependencies,
  {
    input,
    reference,
    agent,
    redactor,
  }: HookedChild & { readonly input: PrepareChildInput; readonly redactor: Redactor },
): Promise<BufferedState> {
  const parent = await dependencies.store.read((db) => findThread(db, input.threadId))
  const thread = {
    user_id: parent?.user_id ?? null,
    created_at: input.now * 1000,
    terminated_at: null,
    terminate_requested_at: null,
    parent_thread_id: input.threadId,
  }
  return openBufferedState({
    dependencies,
    threadId: reference,
    thread,
    agent,
    now: input.now,
    origin: { kind: 'hook', id: 'hooks_created', run: null, step: null, side: null },
    content: null,
    execution: null,
    // One hook has both states, and its failures are recorded by the batch.
    redactor,
  })
}
