// All that page.tsx needs of it; a project of yours installs @types/react-dom.
declare module 'react-dom/client' {
  export function createRoot(element: Element): { render(shown: import('react').ReactNode): void }
}
