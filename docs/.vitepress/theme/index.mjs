// The default theme with the fonts of the reader's system: the site loads no font.
import theme from 'vitepress/theme-without-fonts'

export default theme
