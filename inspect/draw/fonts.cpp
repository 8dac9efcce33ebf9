// The fonts lie in the program as they are: a literal of six million characters would take the
// compiler a minute. Alone in this file, which ccache does not keep.
#define FFKIT_FONT(name, file)                                                         \
  asm(".pushsection .rodata\n"                                                         \
      ".balign 16\n.globl " #name "\n.hidden " #name "\n.globl " #name                 \
      "_end\n"                                                                         \
      ".hidden " #name "_end\n" #name ": .incbin \"" FFKIT_FONTS "/" file "\"\n" #name \
      "_end:\n"                                                                        \
      ".popsection\n")
FFKIT_FONT(ffkit_dejavu_sans, "DejaVuSans.ttf");
FFKIT_FONT(ffkit_unifont, "unifont.otf");
FFKIT_FONT(ffkit_unifont_upper, "unifont_upper.otf");
