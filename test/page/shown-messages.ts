import type { Page } from 'playwright-core'

/** Id, role and paragraphs of a message. */
type ShownMessage = readonly [string, string, readonly string[]]

/** The messages that the page of an example shows. */
export function shownMessages(page: Page): Promise<readonly ShownMessage[]> {
  return page.evaluate(`[...document.querySelectorAll('[data-message]')].map((message) => [
    message.dataset.message,
    message.className,
    [...message.querySelectorAll('p')].map(({ textContent }) => textContent),
  ])`)
}
