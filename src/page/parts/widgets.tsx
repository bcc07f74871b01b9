/** Small pieces that several views show. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatJson, formatWord } from './format.js'

/** What a status means for the person: whether the thread works, waits for somebody, rests, or has failed. */
const TONES: Readonly<Record<string, string>> = {
  running: 'working',
  'waits for you': 'asking',
  waiting_permission: 'asking',
  waiting_input: 'asking',
  waiting_resource: 'asking',
  blocked: 'asking',
  stopped: 'resting',
  idle: 'resting',
  completed: 'good',
  succeeded: 'good',
  failed: 'bad',
  lost: 'bad',
  unknown: 'bad',
  denied: 'bad',
  terminated: 'bad',
  cancelled: 'resting',
  interrupted: 'bad',
}

export function StatusDot({ status }: { readonly status: string }) {
  return <span class={`dot ${TONES[status] ?? 'resting'}`} aria-hidden="true" />
}

export function StatusBadge({ status }: { readonly status: string }) {
  return (
    <span class="badge" data-status={status}>
      <StatusDot status={status} />
      {formatWord(status)}
    </span>
  )
}

/** A block of text as it is; JSON is indented. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // Focusable, so that the keyboard can scroll it.
    <pre class="code" tabIndex={0} role="group" aria-label={label}>
      {formatJson(text)}
    </pre>
  )
}

/** A sentence about something that went wrong. */
export function Problem({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

interface ActionProps {
  readonly run: () => Promise<void>
  readonly children: ComponentChildren
  readonly kind?: 'primary' | 'quiet' | 'danger'
  readonly label?: string
  readonly isDisabled?: boolean
}

/** A button whose work may fail: it says why, and takes no second click meanwhile. */
export function Action({ run, children, kind = 'quiet', label, isDisabled = false }: ActionProps) {
  const isBusy = useSignal(false)
  const problem = useSignal<string | null>(null)
  const onClick = async (): Promise<void> => {
    isBusy.value = true
    problem.value = null
    try {
      await run()
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={isBusy.value || isDisabled}
        aria-label={label}
        onClick={() => void onClick()}
      >
        {children}
      </button>
      {problem.value !== null && <Problem>{problem.value}</Problem>}
    </>
  )
}

/** Runs now and then while the page is visible, and at once when it becomes visible. */
export function useInterval(run: () => void, milliseconds: number, inputs: readonly unknown[] = []): void {
  useEffect(() => {
    const runIfVisible = (): void => {
      if (document.visibilityState === 'visible') run()
    }
    runIfVisible()
    const timer = setInterval(runIfVisible, milliseconds)
    document.addEventListener('visibilitychange', runIfVisible)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', runIfVisible)
    }
    // The caller names what `run` depends on.
  }, [...inputs])
}
