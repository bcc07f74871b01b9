/**
 * The text of an assistant as Markdown. micromark escapes HTML and drops dangerous addresses (its safe default), and the
 * server's Content-Security-Policy lets no image and no script of another place load.
 */
import { micromark } from 'micromark'
import { useMemo } from 'preact/hooks'

/** Longer ones are shown as plain text: Markdown of a megabyte would block the page. */
const MOST_CHARACTERS = 200_000

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => (text.length > MOST_CHARACTERS ? null : micromark(text)), [text])
  if (html === null) return <div class="prose plain">{text}</div>
  return <div class="prose" onClick={openElsewhere} dangerouslySetInnerHTML={{ __html: html }} />
}

/** A link that a model wrote leaves the page open, and tells the other site nothing of it. */
function openElsewhere(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null) return
  event.preventDefault()
  if (/^(https?|mailto):/.test(link.href)) window.open(link.href, '_blank', 'noopener,noreferrer')
}
