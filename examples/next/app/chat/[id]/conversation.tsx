'use client'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { UIMessage } from 'ai'

interface Props {
  readonly id: string
  /** What the store has, and where in its log that ends. */
  readonly messages: readonly UIMessage[]
  readonly cursor: string
}

const COMPOSER = { position: 'fixed', bottom: 0, padding: '1rem 0', background: '#fff' } as const

type Part = UIMessage['parts'][number]

export function Conversation({ id, messages, cursor }: Props) {
  const api = `/api/chat/${id}`
  const chat = useChat({
    id,
    messages: [...messages],
    resume: true, // after a reload, the answer under way goes on
    transport: new DefaultChatTransport({
      api: `${api}/messages`,
      prepareSendMessagesRequest: ({ messages: all, trigger, body }) => ({
        body: { ...body, trigger, messages: all.slice(-1) }, // the server has the others
      }),
      prepareReconnectToStreamRequest: () => ({ api: `${api}/stream?after=${cursor}` }),
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const say = (form: FormData) => {
    const text = form.get('text')
    if (typeof text === 'string') void chat.sendMessage({ text })
  }
  const allow = (approval: string, approved: boolean) =>
    void chat.addToolApprovalResponse({ id: approval, approved })

  function show(part: Part, index: number) {
    if (part.type === 'text') return <p key={index}>{part.text}</p>
    if (part.type !== 'dynamic-tool') return null
    if (part.state !== 'approval-requested') return <p key={index}>{`${part.toolName}: ${part.state}`}</p>
    return (
      <p key={index}>
        {`${part.toolName} ${JSON.stringify(part.input)}`}
        <button onClick={() => allow(part.approval.id, true)}>Allow</button>
        <button onClick={() => allow(part.approval.id, false)}>Deny</button>
      </p>
    )
  }

  return (
    <main data-status={chat.status} style={{ marginBottom: '5rem' }}>
      {chat.messages.map((message) => (
        <section key={message.id} data-message={message.id} className={message.role}>
          <b>{message.role}</b>
          {message.parts.map(show)}
        </section>
      ))}
      {chat.error !== undefined && <p role="alert">{chat.error.message}</p>}
      {/* It stays where it is: a button that moves with the text is hard to hit. */}
      <form action={say} style={COMPOSER}>
        <input name="text" required aria-label="Message" />
        <button>Send</button>
        <button type="button" onClick={() => void fetch(`${api}/stop`, { method: 'POST' })}>
          Stop
        </button>
      </form>
    </main>
  )
}
