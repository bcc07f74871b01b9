// Owns: the site's list of pages, groups in the order of reading: what is at the left of each page, and the order of llms.txt.
import type { Group } from './navigation.ts'
import { addressOf } from './pages.ts'
import type { SitePage } from './pages.ts'

export interface SidebarGroup {
  readonly text: string
  readonly collapsed?: boolean
  readonly items: readonly { readonly text: string; readonly address: string }[]
}

/** Pages that the build makes stand after the group's own, by the folder of their addresses. */
export function sidebarOf(groups: readonly Group[], pages: readonly SitePage[]): readonly SidebarGroup[] {
  const titles = new Map(pages.map(({ address, title }) => [address, title]))
  return groups.map(({ title, pages: own, made, collapsed }) => {
    const addresses = own.map((page) => addressOf(page))
    const others = made === undefined ? [] : madePages(made, pages).filter((one) => !addresses.includes(one))
    const items = [...addresses, ...others].map((address) => ({
      text: titles.get(address) ?? address,
      address,
    }))
    return { text: title, ...(collapsed === true ? { collapsed } : {}), items }
  })
}

function madePages(made: string, pages: readonly SitePage[]): readonly string[] {
  return pages.map(({ address }) => address).filter((address) => isShown(made, address))
}

/** Of the API the doors: each has a list of its pages. */
function isShown(made: string, address: string): boolean {
  return address.startsWith(`${made}/`) && (made !== 'api' || address.endsWith('/index.md'))
}
