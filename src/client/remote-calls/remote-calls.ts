import type { ClientContext } from '../client-context.js'
import { answerCall } from './answer-call.js'
import { readCallFile, writeCallFile } from './call-files.js'
import type { CallFile, WrittenFile } from './call-files.js'
import { claimCall } from './claim-call.js'
import type { ClaimedCall, ClaimRemoteCall } from './claim-call.js'
import type { HeldRemoteCall } from './held-call.js'

/** What a worker in another language does to its calls: the HTTP server's routes are this, for one worker each. */
export interface RemoteCalls {
  /** @throws RemoteCallError */
  claim(call: ClaimRemoteCall): Promise<ClaimedCall>
  /** Null if there is no such file. @throws RemoteCallError */
  readFile(held: HeldRemoteCall, path: string): Promise<CallFile | null>
  /** Answers the path that it is kept under, without the secrets of the call. @throws RemoteCallError, also over 100 MB */
  writeFile(held: HeldRemoteCall, file: Parameters<typeof writeCallFile>[2]): Promise<WrittenFile>
  /** `result`: a `ToolResult`, which is checked. @throws RemoteCallError, MessageRejectedError */
  answer(held: HeldRemoteCall, result: unknown): Promise<void>
}

export function remoteCalls(context: ClientContext): RemoteCalls {
  return {
    claim: (call) => claimCall(context, call),
    readFile: (held, path) => readCallFile(context, held, path),
    writeFile: (held, file) => writeCallFile(context, held, file),
    answer: (held, result) => answerCall(context, held, result),
  }
}
