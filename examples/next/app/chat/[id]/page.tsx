import type { UIMessage } from 'ai'
import { cookies } from 'next/headers'
import { notFound, redirect } from 'next/navigation'

import { findChat } from '../../../lib/chat.ts'
import { COOKIE, userOf } from '../../../lib/login.ts'
import { threads } from '../../../lib/threads.ts'
import { Conversation } from './conversation.tsx'

interface Props {
  readonly params: Promise<{ readonly id: string }>
}

export default async function Page({ params }: Props) {
  const user = userOf((await cookies()).get(COOKIE)?.value)
  if (user === undefined) redirect('/')
  const { id } = await params
  const chat = await findChat(threads, { id, user })
  if (chat === undefined) notFound()
  const { messages, cursor } = await chat.uiMessages()
  // Those of the AI SDK, without its types: Everthread does not depend on it.
  return <Conversation {...{ id, cursor }} messages={messages as readonly UIMessage[]} />
}
