/**
 * A request that waits for a person: an approval, a budget to raise, a result to give, or variables. Whoever answers first
 * decides; who comes second, in another tab or elsewhere, reads that, and the card goes.
 */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { formatWord } from '../parts/format.js'
import { threadAddress } from '../parts/route.js'
import { Action, Code, Problem } from '../parts/widgets.js'
import { HttpError } from '../../http/index.js'
import type { Answer } from '../../http/index.js'
import { client } from '../session/api.js'
import { loginHost } from '../session/login-return.js'
import type { OpenRequest, OpenThread } from '../state/open-thread.js'
import { ApprovalForm } from '../forms/approval-form.js'
import { fieldsOf, parseJson, textsOf, valueOf } from '../forms/form-values.js'
import { SchemaForm, WHOLE } from '../forms/schema-form.js'

interface RequestCardProps {
  readonly thread: OpenThread
  readonly request: OpenRequest
}

/** Gives an answer; the card's list is read again whatever becomes of it. @throws HttpError */
export type GiveAnswer = (answer: Answer) => Promise<void>

export function RequestCard({ thread, request }: RequestCardProps) {
  const note = useSignal<string | null>(null)
  const answer: GiveAnswer = async (given) => {
    try {
      await client.threads.get(request.threadId).respond(request.id, given)
      note.value = 'Answered.'
    } catch (error) {
      const isOver = HttpError.isInstance(error) && (error.status === 404 || error.status === 409)
      if (!isOver) throw error
      note.value = `Already answered by somebody else: ${error.message}`
    } finally {
      thread.refresh('requests')
    }
  }
  return (
    <section class="request" aria-label={`Request: ${titleOf(request)}`}>
      <h2>
        <span class="dot asking" aria-hidden="true" /> {titleOf(request)}
        {request.threadId !== thread.id && (
          <a class="faint" href={threadAddress(request.threadId)}>
            of a subagent
          </a>
        )}
      </h2>
      {note.value === null ? (
        <Answering request={request} answer={answer} />
      ) : (
        <p role="status" class="hint">
          {note.value}
        </p>
      )}
    </section>
  )
}

function titleOf(request: OpenRequest): string {
  switch (request.kind) {
    case 'approval':
      return `Approve ${request.toolName}?`
    case 'budget':
      return `Raise the budget? ${request.limit} of the ${request.scope}`
    case 'call':
      return request.connect === undefined
        ? `${request.toolName} waits for its result`
        : `Log in to ${request.connect.server}`
    case 'variables':
      return `${request.agent} needs variables`
  }
}

interface AnsweringProps {
  readonly request: OpenRequest
  readonly answer: GiveAnswer
}

function Answering({ request, answer }: AnsweringProps): ComponentChildren {
  switch (request.kind) {
    case 'approval':
      return <ApprovalForm request={request} answer={answer} />
    case 'budget':
      return <BudgetForm request={request} answer={answer} />
    case 'call':
      return request.connect === undefined ? (
        <ResultForm request={request} answer={answer} />
      ) : (
        <ConnectForm request={request} connect={request.connect} answer={answer} />
      )
    case 'variables':
      return <VariablesForm request={request} answer={answer} />
  }
}

type Of<Kind extends OpenRequest['kind']> = {
  readonly request: Extract<OpenRequest, { readonly kind: Kind }>
  readonly answer: GiveAnswer
}

function BudgetForm({ request, answer }: Of<'budget'>) {
  const { most, used, limit, period } = request
  const raise = useSignal(String(most * 2))
  return (
    <>
      <p>
        Used {used} of {most} {formatWord(limit)}
        {period !== 'total' && ` in this ${period}`}. Without an approval the run ends.
      </p>
      <div class="field">
        <label for={`raise-${request.id}`}>New limit</label>
        <input
          id={`raise-${request.id}`}
          inputMode="decimal"
          value={raise.value}
          onInput={(event) => (raise.value = event.currentTarget.value)}
        />
      </div>
      <div class="row">
        <Action kind="primary" run={() => answer({ approved: true, raise: Number(raise.value) })}>
          Raise it
        </Action>
        <Action kind="danger" run={() => answer({ approved: false })}>
          End the run
        </Action>
      </div>
    </>
  )
}

/** The result of a call that the tool left to a person. */
function ResultForm({ request, answer }: Of<'call'>) {
  const fields = fieldsOf(request.form)
  const texts = useSignal<Readonly<Record<string, string>>>({})
  const give = (): Promise<void> => {
    const result = fields === null ? textOrJson(texts.value[WHOLE] ?? '') : valueOf(fields, texts.value)
    return answer({ result: { status: 'success', result } })
  }
  return (
    <>
      {request.args !== undefined && (
        <Code text={JSON.stringify(request.args)} label={`Arguments of ${request.toolName}`} />
      )}
      <SchemaForm
        id={`result-${request.id}`}
        fields={fields}
        texts={texts.value}
        change={(next) => (texts.value = next)}
      />
      <div class="row">
        <Action kind="primary" run={give}>
          Give the result
        </Action>
      </div>
    </>
  )
}

type Connecting = Of<'call'> & { readonly connect: NonNullable<Of<'call'>['request']['connect']> }

/** A login: the person opens the address in a tab of its own, and the page to which it leads back gives the answer. */
function ConnectForm({ connect: { server, url }, request, answer }: Connecting) {
  const host = loginHost(url)
  if (host === null) return <Problem>Expected an address of https to log in at, got another.</Problem>
  return (
    <>
      <p>
        {request.toolName} goes on once you have logged in to {server}. You are asked for it by <b>{host}</b>.
      </p>
      <div class="row">
        <a class="button primary" href={url} target="_blank" rel="noopener noreferrer">
          Connect {server}
        </a>
        <Action
          kind="danger"
          run={() => answer({ result: { status: 'error', error: 'The person did not log in.' } })}
        >
          Not now
        </Action>
      </div>
    </>
  )
}

/** Text stays text; what is JSON is given as that. */
function textOrJson(text: string): unknown {
  return /^\s*[[{]/.test(text) ? parseJson(text, 'the result') : text
}

function VariablesForm({ request, answer }: Of<'variables'>) {
  const fields = request.missing.map((name) => ({
    ...{ name, title: name, description: null, kind: 'text' as const, choices: [], isRequired: true },
  }))
  const texts = useSignal(textsOf(fields, {}))
  const isMissing = fields.some(({ name }) => (texts.value[name] ?? '') === '')
  return (
    <>
      <p class="hint">The values are sealed and cannot be read back.</p>
      {fields.map(({ name }) => (
        <div key={name} class="field">
          <label for={`${request.id}-${name}`}>{name}</label>
          <input
            id={`${request.id}-${name}`}
            type="password"
            autocomplete="off"
            value={texts.value[name] ?? ''}
            onInput={(event) => (texts.value = { ...texts.value, [name]: event.currentTarget.value })}
          />
        </div>
      ))}
      {fields.length === 0 && <Problem>Expected names of variables, got none.</Problem>}
      <div class="row">
        <Action kind="primary" isDisabled={isMissing} run={() => answer({ env: texts.value })}>
          Set them
        </Action>
      </div>
    </>
  )
}
