import type { ControlSnapshot } from '../../protocol/status.js'
import { querySnapshot } from '../query-snapshot.js'
import { left } from './finding.js'
import type { Doctor, Finding } from './finding.js'

/** What a thread's workflow knows; or what is to be said where it tells nothing. */
export type Asked =
  | { readonly snapshot: ControlSnapshot }
  | { readonly snapshot: null; readonly findings: readonly Finding[] }

/** `unasked`: the problem of the finding when no worker answers. One that has closed meanwhile is found by the next look. */
export async function askWorkflow(
  { context }: Doctor,
  { threadId, unasked: problem }: { readonly threadId: string; readonly unasked: string },
): Promise<Asked> {
  const answer = await querySnapshot(context, threadId)
  if (answer.kind === 'answered') return { snapshot: answer.snapshot }
  if (answer.kind === 'gone') return { snapshot: null, findings: [] }
  const silent = left({ kind: 'unasked', threadId, problem }, 'Start a worker, then look again.')
  return { snapshot: null, findings: [silent] }
}
