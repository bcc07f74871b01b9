import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { UIMessage } from 'ai'
import { createRoot } from 'react-dom/client'

interface Loaded {
  readonly messages: UIMessage[]
  readonly cursor: string
}

type Part = UIMessage['parts'][number]

function Conversation({ id, loaded }: { readonly id: string; readonly loaded: Loaded }) {
  const chat = useChat({
    id,
    messages: loaded.messages,
    resume: true, // after a reload, the answer under way goes on
    transport: new DefaultChatTransport({
      api: `/chats/${id}/messages`,
      prepareSendMessagesRequest: ({ messages, trigger, body }) => ({
        body: { ...body, trigger, messages: messages.slice(-1) }, // the server has the others
      }),
      prepareReconnectToStreamRequest: () => ({ api: `/chats/${id}/stream?after=${loaded.cursor}` }),
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
    <main>
      {chat.messages.map((message) => (
        <section key={message.id}>
          <b>{message.role}</b>
          {message.parts.map(show)}
        </section>
      ))}
      {chat.error !== undefined && <p role="alert">{chat.error.message}</p>}
      <form action={say}>
        <input name="text" required aria-label="Message" />
        <button>Send</button>
        <button type="button" onClick={() => void fetch(`/chats/${id}/stop`, { method: 'POST' })}>
          Stop
        </button>
      </form>
    </main>
  )
}

const Login = () => (
  <form method="post" action="/login">
    <input name="user" required aria-label="Name" />
    <input name="password" type="password" required aria-label="Password" />
    <button>Log in</button>
  </form>
)

/** The chat of the address, or a new one; undefined: nobody is logged in. */
async function open(): Promise<{ readonly id: string; readonly loaded: Loaded } | undefined> {
  let id = location.hash.slice(1)
  if (id === '') {
    const created = await fetch('/chats', { method: 'POST' })
    if (created.status === 401) return undefined
    id = ((await created.json()) as { readonly id: string }).id
    location.hash = id
  }
  const answer = await fetch(`/chats/${id}/messages`)
  if (answer.status === 401) return undefined
  if (!answer.ok) throw new Error(await answer.text())
  return { id, loaded: (await answer.json()) as Loaded }
}

const opened = await open()
const root = createRoot(document.querySelector('#root') ?? document.body)
root.render(opened === undefined ? <Login /> : <Conversation {...opened} />)
