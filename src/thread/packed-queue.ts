import type { QueueEntry } from './control.js'

/** An item of the queue as it is carried: a thousand of them ride in each continue-as-new. */
export type PackedEntry =
  | readonly ['m', string, 0 | 1, number]
  | readonly ['m', string, 0 | 1, number, string]
  | readonly ['i', string, 0 | 1, number, string, 0 | 1]
  | readonly ['c', string, string, string, number]
  | readonly ['t', string, string, number]
  | readonly ['r' | 'e' | 'v' | 'g' | 'n', string, number]

const TAGS = { report: 'r', effect: 'e', variables: 'v', continue: 'g', group: 'n' } as const
const KINDS = { r: 'report', e: 'effect', v: 'variables', g: 'continue', n: 'group' } as const

export function packEntry(entry: QueueEntry): PackedEntry {
  const { id, queuedAt } = entry
  if (entry.kind === 'child_closed') return ['c', id, entry.reference, entry.status, queuedAt]
  if (entry.kind === 'tool') return ['t', id, entry.name, queuedAt]
  if (entry.kind !== 'message') return [TAGS[entry.kind], id, queuedAt]
  const role = entry.role === 'assistant' ? 1 : 0
  const { inline, invocation } = entry
  if (inline === undefined)
    return invocation === undefined ? ['m', id, role, queuedAt] : ['m', id, role, queuedAt, invocation]
  return ['i', id, role, queuedAt, inline.content, inline.silent ? 1 : 0]
}

export function unpackEntry(packed: PackedEntry): QueueEntry {
  switch (packed[0]) {
    case 'm': {
      const [, id, isAssistant, queuedAt, invocation] = packed
      const message = { kind: 'message', id, role: roleOf(isAssistant), queuedAt } as const
      return invocation === undefined ? message : { ...message, invocation }
    }
    case 'i': {
      const [, id, isAssistant, queuedAt, content, silent] = packed
      const role = roleOf(isAssistant)
      return { kind: 'message', id, role, queuedAt, inline: { content, role, silent: silent === 1 } }
    }
    case 'c': {
      const [, id, reference, status, queuedAt] = packed
      return { kind: 'child_closed', id, reference, status, queuedAt }
    }
    case 't':
      return { kind: 'tool', id: packed[1], name: packed[2], queuedAt: packed[3] }
    default:
      return { kind: KINDS[packed[0]], id: packed[1], queuedAt: packed[2] }
  }
}

function roleOf(isAssistant: 0 | 1): 'user' | 'assistant' {
  return isAssistant === 1 ? 'assistant' : 'user'
}
