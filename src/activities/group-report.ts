import type { AttachmentRef } from '../protocol/message.js'
import type { ChildRecord } from '../store/children.js'

/** What became of one child of those that a call has started in one go. */
export interface GroupMember {
  readonly reference: string
  readonly name: string
  readonly outcome: 'result' | 'failure' | 'notice'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
}

const HEADINGS: Readonly<Record<GroupMember['outcome'], string>> = {
  result: 'has returned the following result',
  failure: 'has reported a failure',
  notice: 'has ended',
}

/** One text that answers for all of them, in the order in which they were started. */
export function groupText(members: readonly GroupMember[]): string {
  const parts = members.map(({ name, reference, outcome, text }, index) => {
    return `${index + 1}. ${name} (reference: ${reference}) ${HEADINGS[outcome]}:\n${text}`
  })
  const count = members.length === 1 ? '1 subagent has' : `${members.length} subagents have`
  return [`${count} ended.`, ...parts].join('\n\n')
}

/** As a list of children names it: by its own name. */
export function nameOfChild({ thread_name: own, name }: ChildRecord): string {
  return own ?? name
}

export const SILENT_END = 'The subagent ended its session and has nothing to report by itself.'
