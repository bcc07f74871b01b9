import { HttpAgent } from '@ag-ui/client'
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ExportedMessageRepository,
  MessagePartPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from '@assistant-ui/react'
import type { ThreadHistoryAdapter, ToolCallMessagePartProps } from '@assistant-ui/react'
import {
  fromAgUiMessages,
  useAgUiInterrupts,
  useAgUiRuntime,
  useAgUiSubmitInterruptResponses,
} from '@assistant-ui/react-ag-ui'
import type { AgUiInterrupt } from '@assistant-ui/react-ag-ui'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

interface Visit {
  readonly threadId: string
  readonly token: string
}

/** The visitor's thread, and a token of it that holds for minutes: each request has a new one, so a run has all of them. */
async function visit(): Promise<Visit> {
  const answer = await fetch('/visit', { method: 'POST' })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Visit
}

async function call(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${(await visit()).token}`)
  const answer = await fetch(url, { ...init, headers })
  if (!answer.ok) throw new Error(await answer.text())
  return answer
}

const { threadId } = await visit()
const api = `/threads/${encodeURIComponent(threadId)}`
const createAgent = () => new HttpAgent({ url: `${api}/ag-ui`, threadId, fetch: call })

/** The store has the conversation: nothing is kept here. */
const history: ThreadHistoryAdapter = {
  async load() {
    const { status } = (await (await call(api)).json()) as { readonly status: string }
    // A run without a new message joins the one that is under way: its transcript so far, then the rest.
    if (status === 'running') return { messages: [], unstable_resume: true }
    const agent = createAgent()
    await agent.runAgent()
    const messages = fromAgUiMessages(agent.messages)
    const last = messages.at(-1)
    if (last === undefined || agent.pendingInterrupts.length === 0)
      return ExportedMessageRepository.fromArray(messages)
    // The runtime has what a person is asked at the last message.
    const asking = {
      ...last,
      status: { type: 'requires-action', reason: 'interrupt' } as const,
      metadata: { custom: { agui: { interrupts: agent.pendingInterrupts } } },
    }
    return ExportedMessageRepository.fromArray([...messages.slice(0, -1), asking])
  },
  append: () => Promise.resolve(),
}

function Call({ toolName, result }: ToolCallMessagePartProps) {
  return <p>{result === undefined ? `${toolName}…` : `${toolName}: ${JSON.stringify(result)}`}</p>
}

function Message() {
  const { id, role } = useAuiState(({ message }) => message)
  return (
    <MessagePrimitive.Root data-message={id} className={role}>
      <b>{role}</b>
      <MessagePrimitive.Parts
        components={{ Text: () => <MessagePartPrimitive.Text component="p" />, tools: { Fallback: Call } }}
      />
    </MessagePrimitive.Root>
  )
}

/** All that the run waits for: it goes on with one answer to each. */
function Questions() {
  const interrupts = useAgUiInterrupts()
  const submit = useAgUiSubmitInterruptResponses()
  const [answers, setAnswers] = useState<Readonly<Record<string, unknown>>>({})
  const answer = ({ id }: AgUiInterrupt, payload: unknown) => {
    const all = { ...answers, [id]: payload }
    setAnswers(all)
    if (interrupts.every((one) => one.id in all))
      void submit(
        interrupts.map((one) => ({ interruptId: one.id, status: 'resolved', payload: all[one.id] })),
      )
  }
  const open = interrupts.filter(({ id }) => !(id in answers))
  return open.map((one) => <Question key={one.id} asked={one} answer={(payload) => answer(one, payload)} />)
}

interface QuestionProps {
  readonly asked: AgUiInterrupt
  readonly answer: (payload: unknown) => void
}

/** A call that people answer, or else something that is allowed. */
function Question({ asked, answer }: QuestionProps) {
  return (
    <form action={(form) => answer(form.get('answer'))}>
      {asked.message} <code>{JSON.stringify(asked.metadata?.['args'])}</code>
      {asked.reason === 'input_required' ? (
        <input name="answer" required aria-label="Answer" />
      ) : (
        <>
          <button type="button" onClick={() => answer({ approved: true })}>
            Allow
          </button>
          <button type="button" onClick={() => answer({ approved: false })}>
            Deny
          </button>
        </>
      )}
    </form>
  )
}

function Chat() {
  const [agent] = useState(createAgent)
  const [problem, setProblem] = useState('')
  const runtime = useAgUiRuntime({
    ...{ agent, adapters: { history } },
    onError: ({ message }) => setProblem(message),
  })
  // The cancel of assistant-ui only stops listening: the run goes on.
  const stop = () => void call(`${api}/stop`, { method: 'POST' })
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages>{() => <Message />}</ThreadPrimitive.Messages>
        <Questions />
        {problem !== '' && <p role="alert">{problem}</p>}
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <button type="button" onClick={stop}>
            Stop
          </button>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  )
}

createRoot(document.querySelector('#root') ?? document.body).render(<Chat />)
