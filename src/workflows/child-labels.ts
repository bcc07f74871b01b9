import { rootOf } from '../protocol/messages.js'
import type { ThreadControl } from '../thread/control.js'

/** A child as its parent starts it. */
interface Labelled {
  readonly agent: string
  /** Its thread id: what its own name is, is content. */
  readonly reference: string
}

/** What the Temporal UI writes beside a child: registered names and ids, never content (T5). */
export function childLabels(
  { threadId, start }: ThreadControl,
  { agent, reference }: Labelled,
): { readonly staticSummary: string; readonly staticDetails: string } {
  const lines = [
    `Agent: ${agent}`,
    `Instance: ${reference}`,
    `Parent: ${threadId}`,
    `Root: ${rootOf(threadId, start)}`,
  ]
  return { staticSummary: agent, staticDetails: lines.join('  \n') }
}
