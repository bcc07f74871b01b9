// Owns: what must hold of the built site, whatever made it: links lead to pages and places in them, and nothing is loaded from
// another host.
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** What is wrong, one line each; `folder` is the built site. */
export function siteProblems(folder: string): readonly string[] {
  const files = new Set(globSync('**/*', { cwd: folder }))
  const pages = new Map(
    [...files]
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  )
  const anchors = new Map([...pages].map(([file, html]) => [file, idsOf(html)]))
  const links = [...pages].flatMap(([file, html]) => linkProblems(file, html, { files, anchors }))
  const styles = [...files]
    .filter((file) => file.endsWith('.css'))
    .flatMap((file) =>
      foreignInStyle(readFileSync(join(folder, file), 'utf8')).map((url) => `${file} loads ${url}`),
    )
  return [
    ...links,
    ...[...pages].flatMap(([file, html]) => foreignIn(html).map((url) => `${file} loads ${url}`)),
    ...styles,
  ]
}

const idsOf = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decoded(id)))

function linkProblems(
  page: string,
  html: string,
  site: {
    readonly files: ReadonlySet<string>
    readonly anchors: ReadonlyMap<string, ReadonlySet<string>>
  },
): readonly string[] {
  return [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].flatMap(([, href = '']) => {
    if (/^[a-z]+:/.test(href)) return []
    const [path = '', anchor] = decoded(href).split('#')
    const target = path === '' ? page : targetOf(page, path)
    if (!site.files.has(target)) return [`${page} links to ${href}, which is not there`]
    const ids = site.anchors.get(target)
    if (anchor === undefined || anchor === '' || ids === undefined || ids.has(decodeURIComponent(anchor)))
      return []
    return [`${page} links to ${href}, which has no such heading`]
  })
}

function targetOf(page: string, path: string): string {
  const whole = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(page), path)
  return whole === '' || whole === '.' || whole.endsWith('/') ? posix.join(whole, 'index.html') : whole
}

const decoded = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")

/** Addresses of another host that a page loads; a link that a reader follows is none. */
export function foreignIn(html: string): readonly string[] {
  const loaded = html.matchAll(
    /<(?:script|link|img|iframe|source|video|audio|object|embed|use|image)\b[^>]*?\s(?:src|href|srcset|data|poster)="((?:https?:)?\/\/[^"]*)"/g,
  )
  return [...loaded].map(([, url = '']) => url)
}

export function foreignInStyle(css: string): readonly string[] {
  return [...css.matchAll(/(?:url\(\s*["']?|@import\s+["'])((?:https?:)?\/\/[^"')]+)/g)].map(
    ([, url = '']) => url,
  )
}
