import { LIMITS } from '../protocol/limits.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ReopenedThread, ThreadLimits, ThreadStart } from '../protocol/messages.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { startOptions, threadStart } from './thread-workflow.js'
import { REOPENED_MEMO } from './workflow-state.js'

export interface ReopenedStart {
  readonly reopened: ReopenedThread
  readonly limits: ThreadLimits | undefined
}

/**
 * The one start that may follow a closed workflow of the same id: the row says that the thread is open.
 * @throws WorkflowExecutionAlreadyStartedError when somebody was faster
 */
export async function startReopened(
  context: ClientContext,
  thread: ThreadRecord,
  { reopened, limits }: ReopenedStart,
): Promise<void> {
  const { id, agent, parent_thread_id: parentId, parent_call_id: callId, root_thread_id: root } = thread
  const start: ThreadStart = {
    ...(await threadStart(context, thread, limits)),
    ...(!thread.resumable && { resumable: false }),
    ...(parentId !== null && callId !== null && { parent: { threadId: parentId, callId, root } }),
    reopened,
  }
  const { memo, ...options } = await startOptions(context, thread, start)
  await context.call(LIMITS.temporalCall, () =>
    context.temporal().workflow.start(THREAD_WORKFLOW, {
      ...options,
      memo: { ...memo, agent, [REOPENED_MEMO]: true },
      workflowId: id,
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    }),
  )
}
