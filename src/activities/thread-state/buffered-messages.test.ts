import { expect, test } from 'vitest'

import type { Message } from '../../protocol/message.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import type { Store } from '../../store/store.js'
import { createBufferedMessages } from './buffered-messages.js'

function draft(id: string, status: NewMessage['status'] = 'completed'): NewMessage {
  return { id, threadId: 't', role: 'user', content: id, createdAt: 1, sentBy: 'tool', status }
}

const [first, second, third] = ['first', 'second', 'third'].map((id, index): Message => ({
  ...messageOfDraft(draft(id)),
  position: index + 1,
})) as [Message, Message, Message]

/** A thread of three messages; the store returns them newest first. */
const store = {
  read: async () => ({ messages: [third, second, first], total: 3, hasMore: false }),
} as unknown as Store

function buffered() {
  return createBufferedMessages({ store, threadId: 't', originId: 'call' })
}

async function page(messages: ReturnType<typeof buffered>, limit: number) {
  const { messages: shown, ...rest } = await messages.page({ limit })
  return { ids: shown.map(({ id }) => id), ...rest }
}

test('a page shows queued messages behind injected ones, and both behind the transcript', async () => {
  const messages = buffered()
  messages.add('queued', draft('queued', 'pending'))
  messages.add('injected', draft('injected'))
  expect(await page(messages, 3)).toEqual({
    ids: ['third', 'injected', 'queued'],
    total: 5,
    hasMore: true,
  })
})

test('a page fills the place of a message that the call deleted', async () => {
  const messages = buffered()
  messages.change({ original: third, current: null })
  expect(await page(messages, 2)).toEqual({ ids: ['first', 'second'], total: 2, hasMore: false })
})

test('a message that the call hides, and shows again, counts once', async () => {
  const messages = buffered()
  const hidden = { ...second, silent: true }
  messages.change({ original: second, current: hidden })
  expect(await page(messages, 9)).toEqual({ ids: ['first', 'third'], total: 2, hasMore: false })
  messages.change({ original: hidden, current: second })
  expect(await page(messages, 9)).toEqual({ ids: ['first', 'second', 'third'], total: 3, hasMore: false })
})
