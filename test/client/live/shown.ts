import { expect } from 'vitest'

import type { ThreadEvent } from '../../../src/client/index.js'

type Told = Pick<ThreadEvent, 'type' | 'cursor'> & {
  readonly sequence?: number | undefined
  readonly messageId?: string
  readonly toolCallId?: string
  readonly payload: object
}

/** What a subscriber shows, over all its connections. */
export interface Shown {
  /** Sequences and types of facts. */
  readonly facts: string[]
  /** Of what streams, by message, attempt and kind. */
  readonly texts: Map<string, string>
  cursor: string
}

export function nothingShown(): Shown {
  return { facts: [], texts: new Map(), cursor: '0' }
}

/** Takes one event in; one that comes twice, out of order or with a gap before it fails. */
export function show(shown: Shown, event: Told): void {
  shown.cursor = event.cursor
  if (event.sequence !== undefined) {
    expect(event.sequence).toBe(shown.facts.length + 1)
    shown.facts.push(`${event.sequence} ${event.type}`)
    if (event.type === 'message.created') forget(shown, event.messageId ?? '')
    if (event.type === 'tool.result') forget(shown, event.toolCallId ?? '')
    return
  }
  const { attempt, offset, text } = event.payload as { attempt: number; offset: number; text: string }
  const call = event.type === 'tool.args' ? ` ${event.toolCallId}` : ''
  const key = `${event.messageId ?? event.toolCallId}/${attempt}/${event.type}${call}`
  const before = shown.texts.get(key) ?? ''
  if (event.type === 'tool.progress') {
    const { progress } = event.payload as { progress: number }
    expect([key, progress > Number(before)]).toEqual([key, true])
    shown.texts.set(key, String(progress))
    return
  }
  expect([key, offset]).toEqual([key, before.length])
  expect(text).not.toBe('')
  shown.texts.set(key, before + text)
}

/** The committed message stands instead of its text. */
export function forget({ texts }: Shown, messageId: string): void {
  for (const key of texts.keys()) if (key.startsWith(`${messageId}/`)) texts.delete(key)
}

/** What is left when attempts that were given up are dropped. */
export function lastAttempts({ texts }: Shown): ReadonlyMap<string, string> {
  const last = new Map<string, number>()
  const partsOf = (key: string) => {
    const [message = '', attempt = '0'] = key.split('/')
    return { message, attempt: Number(attempt) }
  }
  for (const key of texts.keys()) {
    const { message, attempt } = partsOf(key)
    last.set(message, Math.max(attempt, last.get(message) ?? 0))
  }
  return new Map(
    [...texts].filter(([key]) => {
      const { message, attempt } = partsOf(key)
      return last.get(message) === attempt
    }),
  )
}
