// Owns: `llms.txt` and `llms-full.txt`, for programs that read the documents: what pages there are, and the text of those that a
// user of the package needs.
// Does not own: the pages, which the site also has as Markdown at their addresses.
import type { SidebarGroup } from './sidebar.ts'
import type { SitePage } from './pages.ts'

const WORDS = 'Durable agent threads on Temporal, in TypeScript. Each page is also at its address with `.md`.'
/** Long, and for those who work on the package. */
const NOT_IN_FULL = /^(?:The project|Decisions)$/

/** Each page once, by groups, with the first sentence of its text; addresses are relative to the site's root. */
export function llmsIndex(groups: readonly SidebarGroup[], pages: ReadonlyMap<string, SitePage>): string {
  const lines = groups.map(({ text, items }) => {
    const links = items.map(({ address }) => {
      const page = pageAt(pages, address)
      const sentence = firstSentence(page.markdown)
      return `- [${page.title}](/${address})${sentence === '' ? '' : `: ${sentence}`}`
    })
    return `## ${text}\n\n${links.join('\n')}`
  })
  return `# Everthread\n\n> ${WORDS}\n\n${lines.join('\n\n')}\n`
}

/** The pages of the guide and the reference, one after the other, each after a line with its address. */
export function llmsFull(groups: readonly SidebarGroup[], pages: ReadonlyMap<string, SitePage>): string {
  const texts = groups
    .filter(({ text }) => !NOT_IN_FULL.test(text))
    .flatMap(({ items }) => items)
    .map(({ address }) => `<!-- /${address} -->\n\n${pageAt(pages, address).markdown.trim()}`)
  return `${texts.join('\n\n---\n\n')}\n`
}

function pageAt(pages: ReadonlyMap<string, SitePage>, address: string): SitePage {
  const page = pages.get(address)
  if (page === undefined) throw new Error(`Expected the page ${address}, got none: mend site/sidebar.ts`)
  return page
}

/** Of the first paragraph that is text, without marks. */
export function firstSentence(markdown: string): string {
  const paragraph =
    markdown
      .replaceAll(/^`{3,}[\s\S]*?^`{3,}$/gm, '')
      .split(/\n{2,}/)
      .find((text) => /^[\p{L}_*`[(\d]/u.test(text.trim())) ?? ''
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\n', ' ')
    .trim()
  const [sentence = plain] = /^.*?[.:!?](?=\s|$)/.exec(plain) ?? []
  return sentence.replace(/:$/, '.')
}
