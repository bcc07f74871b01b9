/** What a call would do and why a person is asked, and the answers that the request takes. */
import { useSignal } from '@preact/signals'
import type { Answer, PendingRequest } from '../../http/index.js'
import { formatClock, formatWord } from '../parts/format.js'
import { Action, Code } from '../parts/widgets.js'
import { fieldsOf, parseJson, textsOf, valueOf } from './form-values.js'
import { SchemaForm, WHOLE } from './schema-form.js'

type ApprovalRequest = Extract<PendingRequest, { readonly kind: 'approval' }>

interface ApprovalFormProps {
  readonly request: ApprovalRequest
  readonly answer: (answer: Answer) => Promise<void>
}

type Mode = 'ask' | 'arguments' | 'deny' | 'result'

export function ApprovalForm({ request, answer }: ApprovalFormProps) {
  const mode = useSignal<Mode>('ask')
  const may = (kind: ApprovalRequest['answers'][number]): boolean => request.answers.includes(kind)
  return (
    <>
      <Explanation request={request} />
      {mode.value !== 'arguments' && request.args !== undefined && (
        <Code text={JSON.stringify(request.args)} label={`Arguments of ${request.toolName}`} />
      )}
      {mode.value === 'ask' && (
        <div class="row">
          <Approve request={request} answer={answer} mayRemember={may('remember')} />
          {may('arguments') && request.args !== undefined && (
            <Choose mode="arguments" set={(next) => (mode.value = next)}>
              Edit the arguments
            </Choose>
          )}
          {may('deny') && (
            <Choose mode="deny" set={(next) => (mode.value = next)}>
              Deny
            </Choose>
          )}
          {may('result') && (
            <Choose mode="result" set={(next) => (mode.value = next)}>
              Answer in its place
            </Choose>
          )}
        </div>
      )}
      {mode.value === 'arguments' && <EditForm request={request} answer={answer} />}
      {mode.value === 'deny' && <TextForm request={request} kind="deny" answer={answer} />}
      {mode.value === 'result' && <TextForm request={request} kind="result" answer={answer} />}
      {mode.value !== 'ask' && (
        <button type="button" class="button quiet" onClick={() => (mode.value = 'ask')}>
          Back
        </button>
      )}
    </>
  )
}

interface ChooseProps {
  readonly mode: Mode
  readonly set: (mode: Mode) => void
  readonly children: string
}

function Choose({ mode, set, children }: ChooseProps) {
  return (
    <button type="button" class={`button ${mode === 'deny' ? 'danger' : 'quiet'}`} onClick={() => set(mode)}>
      {children}
    </button>
  )
}

function Explanation({ request }: { readonly request: ApprovalRequest }) {
  const { description, decision, preview = [], expiresAt, approvers } = request
  const impact = typeof decision?.destructive === 'object' ? decision.destructive.impact : undefined
  return (
    <>
      {description !== undefined && <p>{description}</p>}
      {decision?.reason !== undefined && <p>{decision.reason}</p>}
      {impact !== undefined && <p class="bad">Destroys: {impact}</p>}
      <p class="hint">
        {decision !== undefined && `Asked by ${formatWord(decision.source)}. `}
        {(decision?.capabilities ?? []).length > 0 && `Needs ${decision?.capabilities?.join(', ')}. `}
        {approvers?.roles !== undefined &&
          `To be answered by ${approvers.roles.map((roles) => roles.join(' or ')).join(', and ')}. `}
        {approvers?.fourEyes === true && 'To be answered by somebody else than the one it works for. '}
        {expiresAt !== undefined && `Denied at ${formatClock(expiresAt / 1_000)} if nobody answers.`}
      </p>
      {preview.map((part, index) => (
        // The parts of a preview do not change.
        <PreviewPart key={String(index)} part={part} />
      ))}
    </>
  )
}

type Part = NonNullable<ApprovalRequest['preview']>[number]

function PreviewPart({ part }: { readonly part: Part }) {
  return (
    <figure class="preview-part">
      {part.title !== undefined && <figcaption>{part.title}</figcaption>}
      {part.type === 'text' && <div class="prose plain">{part.text}</div>}
      {part.type === 'json' && <Code text={JSON.stringify(part.value)} label={part.title ?? 'Preview'} />}
      {part.type === 'file' && <code>{part.path}</code>}
      {part.type === 'diff' && (
        <div class="diff">
          <pre class="code removed" tabIndex={0} role="group" aria-label="Before">
            {part.before}
          </pre>
          <pre class="code added" tabIndex={0} role="group" aria-label="After">
            {part.after}
          </pre>
        </div>
      )}
    </figure>
  )
}

type Remembered = 'thread' | 'tree' | 'user'

type GiveProps = ApprovalFormProps

function Approve({ request, answer, mayRemember }: GiveProps & { readonly mayRemember: boolean }) {
  const remember = useSignal<Remembered | ''>('')
  const give = (): Promise<void> =>
    answer({ approved: true, ...(remember.value !== '' && { remember: { for: remember.value } }) })
  return (
    <>
      <Action kind="primary" run={give}>
        Approve
      </Action>
      {mayRemember && (
        <select
          aria-label={`Remember the approval of ${request.toolName}`}
          value={remember.value}
          // Its options are below.
          onChange={(event) => (remember.value = event.currentTarget.value as Remembered | '')}
        >
          <option value="">only this call</option>
          <option value="thread">remember for this thread</option>
          <option value="tree">remember for its subagents too</option>
          <option value="user">remember for this user</option>
        </select>
      )}
    </>
  )
}

function EditForm({ request, answer }: GiveProps) {
  const fields = fieldsOf(request.schema)
  const texts = useSignal<Readonly<Record<string, string>>>(
    fields === null ? { [WHOLE]: JSON.stringify(request.args, null, 2) } : textsOf(fields, request.args),
  )
  const give = async (): Promise<void> => {
    const edited =
      fields === null ? parseJson(texts.value[WHOLE] ?? '', 'the arguments') : valueOf(fields, texts.value)
    // The server checks them against the schema of the tool.
    await answer({ approved: true, arguments: edited as Readonly<Record<string, unknown>> })
  }
  return (
    <>
      <SchemaForm
        id={`edit-${request.id}`}
        fields={fields}
        texts={texts.value}
        change={(next) => (texts.value = next)}
      />
      <div class="row">
        <Action kind="primary" run={give}>
          Approve with these arguments
        </Action>
      </div>
    </>
  )
}

const TEXTS = {
  deny: { label: 'Reason, for the agent', button: 'Deny the call', kind: 'danger' },
  result: { label: 'Result, in the place of the call', button: 'Give this result', kind: 'primary' },
} as const

function TextForm({ request, kind, answer }: GiveProps & { readonly kind: 'deny' | 'result' }) {
  const text = useSignal('')
  const { label, button, kind: look } = TEXTS[kind]
  const id = `${kind}-${request.id}`
  const reason = text.value.trim()
  const give = (): Promise<void> =>
    kind === 'deny'
      ? answer({ approved: false, ...(reason !== '' && { reason }) })
      : answer({ result: { status: 'success', result: text.value } })
  return (
    <>
      <div class="field">
        <label for={id}>{label}</label>
        <textarea
          id={id}
          rows={2}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </div>
      <div class="row">
        <Action kind={look} run={give}>
          {button}
        </Action>
      </div>
    </>
  )
}
