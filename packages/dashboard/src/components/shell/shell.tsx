import { Outlet, useLocation } from '@tanstack/react-router'
import { Menu } from 'lucide-react'
import { Suspense, useEffect, useState } from 'react'
import { lazy } from '../lazy-code.tsx'
import { Frame } from '../../ui/frame.tsx'
import { Opening } from '../../ui/opening.tsx'
import { useTitle } from '../../ui/title.ts'
import { useShortcuts } from '../../ui/use-shortcuts.ts'
import { Breadcrumbs } from './breadcrumbs.tsx'
import { Held } from './held.tsx'
import { Notices } from './notices.tsx'
import { Reconnecting } from './reconnecting.tsx'
import { titles } from './rooms.ts'
import { SignInEnded } from './sign-in-ended.tsx'
import { Sidebar } from './sidebar.tsx'
import { TourNotice } from './tour-notice.tsx'
import { usePalette } from './use-palette.ts'

const Drawer = lazy(() => import('./drawer.tsx'), 'default')
const Palette = lazy(() => import('./palette/palette.tsx'), 'default')
const Shortcuts = lazy(() => import('./shortcuts.tsx'), 'default')

export function Shell() {
  const { pathname } = useLocation()
  useTitle(titles[pathname] ?? null)
  const palette = usePalette()
  const { close: closePalette } = palette
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [areKeysShown, setKeysShown] = useState(false)
  useShortcuts({ '?': () => setKeysShown(true) })
  // Both close when the user went to another page.
  useEffect(() => {
    closePalette()
    setMenuOpen(false)
  }, [pathname, closePalette])
  const search = () => {
    setMenuOpen(false)
    palette.open()
  }
  return (
    <div className="md:grid md:grid-cols-[var(--spacing-sidebar)_minmax(0,1fr)]">
      <a
        href="#main"
        className="absolute left-2 z-50 -translate-y-20 rounded-md bg-accent-fill px-3 py-2 text-on-fill focus:translate-y-2"
      >
        Skip to content
      </a>
      {/* Its menus are above the bar of the page. */}
      <header className="sticky top-0 z-30 h-dvh border-r border-line bg-side max-md:hidden">
        <Sidebar onSearch={search} />
      </header>
      <main id="main" tabIndex={-1} className="min-w-0 outline-none">
        <Frame
          bar={({ heading, actions }) => (
            <div
              data-bar
              className="sticky top-0 z-20 flex min-h-bar flex-wrap items-center gap-x-2 gap-y-1 border-b border-line bg-ground px-4 py-1 md:px-6"
            >
              <MenuButton onClick={() => setMenuOpen(true)} />
              <Breadcrumbs />
              <div ref={heading} className="min-w-36 flex-1 sm:min-w-0" />
              <div ref={actions} className="flex flex-wrap items-center gap-2" />
            </div>
          )}
        >
          <div ref={aboveThePage} className="flex flex-col gap-2 border-b border-line px-4 py-4 empty:hidden md:px-6">
            <Reconnecting />
            <SignInEnded />
            <Held />
            <Notices />
            <TourNotice />
          </div>
          <div className="px-4 py-5 md:px-6">
            <Outlet />
          </div>
        </Frame>
      </main>
      <Suspense fallback={<Opening />}>
        {isMenuOpen && <Drawer onClose={() => setMenuOpen(false)} onSearch={search} />}
        {palette.text !== null && <Palette {...palette} text={palette.text} />}
        {areKeysShown && <Shortcuts onClose={() => setKeysShown(false)} />}
      </Suspense>
    </div>
  )
}

/** Pages that fill the screen leave room for what is above them, and panels that stay in view for what of it is visible. */
function aboveThePage(element: HTMLElement | null): (() => void) | undefined {
  if (element === null) return undefined
  const { style } = document.documentElement
  let height = 0
  const showVisible = () =>
    style.setProperty('--spacing-notices-shown', `${Math.max(0, height - Math.max(0, scrollY))}px`)
  const resized = new ResizeObserver(() => {
    height = element.offsetHeight
    style.setProperty('--spacing-notices', `${height}px`)
    showVisible()
  })
  resized.observe(element)
  const scrolled = () => height > 0 && showVisible()
  addEventListener('scroll', scrolled, { passive: true })
  return () => {
    resized.disconnect()
    removeEventListener('scroll', scrolled)
  }
}

function MenuButton({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label="Open menu"
      aria-haspopup="dialog"
      onClick={onClick}
      className="-ml-2 grid size-9 flex-none place-items-center rounded-md text-dim hover:bg-hover md:hidden"
    >
      <Menu aria-hidden className="size-4.5" />
    </button>
  )
}
