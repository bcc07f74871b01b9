/** The timeline: runs, their steps, and in each the requests to models and the calls of tools, with time, tokens and cost. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatCost } from '../../protocol/status.js'
import { formatClock, formatCount, formatDuration, formatWord } from '../parts/format.js'
import { Code, Empty, StatusDot } from '../parts/widgets.js'
import type { OpenThread } from '../state/open-thread.js'
import type { ModelCall, Run, Step, ToolRun } from '../../fold/runs.js'
import { OriginalError } from '../parts/original-error.js'

export function Steps({ thread }: { readonly thread: OpenThread }) {
  const runs = thread.runs.value
  if (runs.length === 0) return <Empty>No run yet.</Empty>
  return (
    <ol class="runs">
      {runs.toReversed().map((run) => (
        <RunItem key={run.id} threadId={thread.id} run={run} />
      ))}
    </ol>
  )
}

function RunItem({ threadId, run }: { readonly threadId: string; readonly run: Run }) {
  const now = useNow(run.outcome === 'running')
  const end = run.endedAt ?? now
  const all = Math.max(1, end - run.startedAt)
  return (
    <li class="run">
      <h2>
        <StatusDot status={run.outcome} />
        <span>{run.reason === undefined ? run.outcome : formatWord(run.reason)}</span>
        <span class="faint grow">{formatClock(run.startedAt)}</span>
        <span class="number">{formatDuration(all)}</span>
      </h2>
      {run.usage !== undefined && (
        <p class="figures">
          {formatCount(run.usage.inputTokens)} in · {formatCount(run.usage.outputTokens)} out ·{' '}
          {formatCost(run.usage.cost)}
        </p>
      )}
      <ol>
        {run.steps.map((step) => (
          <StepItem
            key={step.id}
            threadId={threadId}
            step={step}
            run={{ startedAt: run.startedAt, all, end }}
          />
        ))}
      </ol>
      {run.notes.map((note) => (
        <div key={`${note.at} ${note.text}`} class="note">
          <span class="faint">{formatClock(note.at)}</span> {note.text}
          {note.errorId !== undefined && <OriginalError threadId={threadId} errorId={note.errorId} />}
        </div>
      ))}
    </li>
  )
}

interface Span {
  readonly startedAt: number
  /** Milliseconds of the whole run. */
  readonly all: number
  readonly end: number
}

interface StepItemProps {
  readonly threadId: string
  readonly step: Step
  readonly run: Span
}

function StepItem({ threadId, step, run }: StepItemProps) {
  return (
    <li class="step">
      <h3>
        Step {step.number}
        <span class="faint grow">{step.prompt}</span>
        {step.contextTokens !== undefined && (
          <span class="faint">~{formatCount(step.contextTokens)} context</span>
        )}
      </h3>
      {step.requests.map((one) => (
        <Request
          key={`${one.startedAt} ${one.model} ${one.attempt}`}
          threadId={threadId}
          request={one}
          run={run}
        />
      ))}
      {step.tools.map((one) => (
        <Tool key={`${one.id} ${one.startedAt}`} threadId={threadId} tool={one} run={run} />
      ))}
    </li>
  )
}

interface RequestProps {
  readonly threadId: string
  readonly request: ModelCall
  readonly run: Span
}

function Request({ threadId, request, run }: RequestProps) {
  const { model, milliseconds, usage, error, errorId, next, attempt, reason, finishReason } = request
  const isOver = milliseconds !== undefined || error !== undefined
  const took = milliseconds ?? (isOver ? undefined : run.end - request.startedAt)
  const figures =
    usage === undefined
      ? ''
      : `${formatCount(usage.inputTokens)} → ${formatCount(usage.outputTokens)} · ${formatCost(usage.cost)}`
  return (
    <Line
      status={error === undefined ? (isOver ? 'succeeded' : 'running') : 'failed'}
      name={attempt > 1 ? `${model} (${attempt})` : model}
      figures={figures}
      took={took}
      bar={{ from: request.startedAt - run.startedAt, took: took ?? 0, all: run.all }}
    >
      <dl class="facts">
        <Fact name="chosen because" value={formatWord(reason)} />
        <Fact name="ended" value={finishReason} />
        <Fact name="cached input" value={usage === undefined ? undefined : String(usage.cachedInputTokens)} />
        <Fact name="failure" value={error === undefined ? undefined : formatWord(error)} />
        <Fact name="then" value={next} />
      </dl>
      {errorId !== undefined && <OriginalError threadId={threadId} errorId={errorId} />}
    </Line>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  if (value === undefined || value === '') return null
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}

interface ToolProps {
  readonly threadId: string
  readonly tool: ToolRun
  readonly run: Span
}

function Tool({ threadId, tool, run }: ToolProps) {
  const { name, startedAt, endedAt = run.end, outcome = 'running', errorCode, errorId } = tool
  const took = endedAt - startedAt
  return (
    <Line
      status={outcome}
      name={name}
      figures={outcome === 'succeeded' ? '' : (errorCode ?? outcome)}
      took={took}
      bar={{ from: startedAt - run.startedAt, took, all: run.all }}
    >
      {tool.arguments !== undefined && <Code text={tool.arguments} label={`Arguments of ${name}`} />}
      {tool.result !== undefined && <Code text={tool.result} label={`Result of ${name}`} />}
      {errorId !== undefined && <OriginalError threadId={threadId} errorId={errorId} />}
    </Line>
  )
}

interface LineProps {
  readonly status: string
  readonly name: string
  readonly figures: string
  readonly took: number | undefined
  readonly bar: { readonly from: number; readonly took: number; readonly all: number }
  // What is shown when it is open.
  readonly children: ComponentChildren
}

function Line({ status, name, figures, took, bar, children }: LineProps) {
  const isOpen = useSignal(false)
  const share = (part: number): string => `${Math.min(100, Math.max(0, (part / bar.all) * 100))}`
  return (
    <div class="line">
      <button
        type="button"
        class="line-head"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <StatusDot status={status} />
        <span class="name">{name}</span>
        <span class="faint figures">{figures}</span>
        <span class="number">{took === undefined ? '' : formatDuration(took)}</span>
      </button>
      <svg class={`track ${status}`} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        <rect x={share(bar.from)} y="0" width={String(Math.max(0.6, Number(share(bar.took))))} height="1" />
      </svg>
      {isOpen.value && <div class="line-body">{children}</div>}
    </div>
  )
}

/** The time, each second while something runs. */
function useNow(isRunning: boolean): number {
  const now = useSignal(Date.now())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => (now.value = Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now.value
}
