import { getExternalWorkflowHandle } from '@temporalio/workflow'
import type { Tell } from '../thread/control.js'
import { tellDone, toldAs } from '../thread/tells.js'
import type { ThreadHost } from './thread-host.js'
import { told } from './told.js'

/** Tells another thread's workflow what this thread did to it; its rows say so already (T2). */
export async function tellThread(host: ThreadHost, tell: Tell): Promise<void> {
  const message = toldAs(host.control, tell)
  const thread = getExternalWorkflowHandle(tell.to)
  await told(() => (message.signal === null ? thread.cancel() : thread.signal(message.signal, message.input)))
  host.update(tellDone)
}
