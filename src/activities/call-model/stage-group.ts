import { randomUUID } from 'node:crypto'

import type { CallModelInput, DrainItem } from '../../protocol/activities.js'
import { runIdOf } from '../../protocol/ids.js'
import { childrenOfGroup } from '../../store/children.js'
import type { ChildRecord } from '../../store/children.js'
import { stageMessage } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { SILENT_END, fittingMembers, groupFiles, groupText, nameOfChild } from '../group-report.js'
import type { GroupMember } from '../group-report.js'
import { recordClosedChild } from '../record-closed-child.js'
import { microseconds } from './model-step.js'

/** All children that a call has started in one go have ended: one silent message says what came of them (T7). */
export async function stageGroup(
  tx: Writer,
  input: CallModelInput,
  {
    id: spawnGroupId,
    digest,
  }: Pick<Extract<DrainItem, { readonly kind: 'group' }>, 'id'> & { digest: string },
): Promise<string> {
  const { threadId } = input
  const children = await childrenOfGroup(tx, { parentThreadId: threadId, spawnGroupId })
  const now = microseconds(input)
  const members: GroupMember[] = []
  for (const child of children) {
    members.push(memberOf(child))
    if (child.closed_at !== null || child.report !== null) continue
    const scope = { runId: runIdOf(input.run) }
    await recordClosedChild(tx, { threadId, reference: child.reference, status: 'failed', scope, now })
  }
  const id = randomUUID()
  const { attachments, note } = groupFiles(members)
  const message = {
    id,
    threadId,
    role: 'user',
    content: `${groupText(fittingMembers(members))}${note}`,
    silent: true,
    attachments,
  } as const
  await stageMessage(tx, { ...message, createdAt: now, sentBy: 'runtime', digest })
  return id
}

/** All have ended: one without a report was closed, or says nothing by itself. */
function memberOf(child: ChildRecord): GroupMember {
  const { reference, report, status } = child
  const about = { reference, name: nameOfChild(child) }
  if (report !== null)
    return { ...about, outcome: report.kind, text: report.text, attachments: report.attachments }
  if (child.parent_communication === 'explicit' && status === 'completed')
    return { ...about, outcome: 'notice', text: SILENT_END, attachments: [] }
  return { ...about, outcome: 'failure', text: 'It was closed without a report.', attachments: [] }
}
