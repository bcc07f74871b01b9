import { getExternalWorkflowHandle } from '@temporalio/workflow'
import { SIGNALS } from '../protocol/messages.js'
import type { Operations, QueueMessage, QueueTool } from '../protocol/messages.js'
import type { ThreadControl, Tell } from '../thread/control.js'
import { tellDone } from '../thread/tells.js'
import type { ThreadHost } from './thread-host.js'
import { told } from './told.js'

/** Tells another thread's workflow what this thread did to it; its rows say so already (T2). */
export async function tellThread(host: ThreadHost, tell: Tell): Promise<void> {
  await told(() => sent(host.control, tell))
  host.update(tellDone)
}

/** What has a signal of its own comes as from anybody else. */
function sent({ start }: ThreadControl, { to, operation }: Tell): Promise<void> {
  const thread = getExternalWorkflowHandle(to)
  switch (operation.kind) {
    case 'queue_message': {
      const { id, role } = operation
      const from = to === start.parent?.threadId ? 'child' : 'parent'
      return thread.signal<[QueueMessage]>(SIGNALS.queueMessage, { messageId: id, role, from })
    }
    case 'queue_tool': {
      const { id, name } = operation
      return thread.signal<[QueueTool]>(SIGNALS.queueTool, { toolCallId: id, name })
    }
    case 'terminate':
      return thread.cancel()
    default:
      return thread.signal<[Operations]>(SIGNALS.operations, { operations: [operation] })
  }
}
