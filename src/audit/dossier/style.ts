/** How the page looks: on a wide screen, on a phone, in the dark and on paper. Colours are those of the drawings. */
import { palette } from "../svg.ts";

export const style = `${palette}
*{box-sizing:border-box}
html{color-scheme:light dark;scroll-behavior:smooth;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
.sheet{display:grid;grid-template-columns:210px minmax(0,1fr);grid-template-rows:auto 1fr;gap:0 3rem;max-width:1280px;margin:0 auto;padding:0 2rem 6rem}
.sheet.plain{display:block}
nav{grid-column:1;grid-row:1/span 2;position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding:3.2rem 0 2rem;font-size:13px}
nav ol{list-style:none;margin:0;padding:0}
nav li{margin:0}
nav a{display:block;padding:.24rem .6rem;color:var(--soft);border-left:2px solid var(--line);text-decoration:none}
nav a:hover{color:var(--ink);border-color:var(--accent)}
header,main{grid-column:2;min-width:0}
header{padding:3rem 0 2.2rem}
.over{margin:0;color:var(--soft);font-size:12px;letter-spacing:.09em;text-transform:uppercase}
h1{margin:.15rem 0 .5rem;font-size:30px;line-height:1.2;font-weight:680;letter-spacing:-.015em;text-wrap:balance;display:-webkit-box;-webkit-line-clamp:4;-webkit-box-orient:vertical;overflow:hidden}
.under{margin:0 0 1.6rem;color:var(--soft)}
h2{margin:0 0 1rem;font-size:20px;line-height:1.3;font-weight:650;letter-spacing:-.01em}
h2 a{color:inherit;text-decoration:none}
h3{margin:1.7rem 0 .5rem;font-size:14px;font-weight:650}
section{padding:2.2rem 0 1.4rem;border-top:1px solid var(--line)}
p{margin:.5rem 0}
a{color:var(--accent)}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.id{color:var(--soft);white-space:nowrap}
pre{margin:.4rem 0;padding:.7rem .9rem;max-height:32rem;overflow:auto;background:var(--wash);border-radius:6px;white-space:pre-wrap}
blockquote{margin:0 0 1.2rem;padding:0 0 0 1.1rem;border-left:3px solid var(--line)}
blockquote pre{margin:0;padding:0;background:none;font-family:inherit;font-size:16px;line-height:1.6;max-height:none}
blockquote.answer{border-color:var(--good)}
.quiet,.note,.none,.left{color:var(--soft)}
.note{font-size:13.5px;max-width:78ch}
.none{font-style:normal}
.left{font-size:13px;margin:.3rem 0;padding:.3rem .6rem;background:var(--wash);border-radius:4px}
.bad{color:var(--bad)}
.said{margin:.2rem 0;white-space:pre-line}
.label{margin:.7rem 0 .1rem;font-size:12px;color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(7,minmax(0,1fr));border:1px solid var(--line);border-radius:8px;overflow:hidden}
.tile{padding:.8rem .95rem;box-shadow:0 0 0 .5px var(--line);overflow-wrap:normal}
.tile b{display:block;font-size:20px;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums;white-space:nowrap}
.tile span{display:block;font-size:12.5px}
.tile small{display:block;color:var(--soft);font-size:12px;line-height:1.35}
.mark{display:inline-block;padding:0 .45em;border:1px solid currentColor;border-radius:4px;font-size:11.5px;line-height:1.55;font-weight:550;white-space:nowrap;color:var(--soft);vertical-align:.08em}
.mark.good{color:var(--good)}.mark.bad{color:var(--bad)}.mark.warn{color:var(--person)}
dl{display:grid;grid-template-columns:1fr;gap:0;margin:.6rem 0}
dl>div{display:grid;grid-template-columns:11.5rem minmax(0,1fr);gap:1rem;padding:.38rem 0;border-top:1px solid var(--line)}
dl>div:first-child{border-top:0}
dt{color:var(--soft)}
dd{margin:0}
.table{overflow-x:auto;margin:.5rem 0}
table{width:100%;border-collapse:collapse;font-size:13.5px;line-height:1.45}
th{padding:.35rem .7rem .35rem 0;text-align:left;font-weight:550;font-size:12px;color:var(--soft);border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:bottom}
td{padding:.5rem .7rem .5rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word;max-width:16rem}
td:last-child,th:last-child{padding-right:0}
.figure{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.wide{width:44%;min-width:12rem;max-width:30rem;overflow-wrap:anywhere}
td>div>:first-child{margin-top:0}
td>div>:last-child{margin-bottom:0}
.narrow{width:1%;white-space:nowrap}
.json{word-break:break-all}
tr.left td{background:var(--wash);color:var(--soft);text-align:center;max-width:none}
details{margin:.3rem 0}
summary{cursor:pointer;padding:.1rem 0}
summary::marker{color:var(--soft)}
.file{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.file.added{color:var(--good)}.file.removed{color:var(--bad);text-decoration:line-through}
.added{color:var(--good)}.removed{color:var(--bad)}
pre.patch{padding:.6rem 0;white-space:pre-wrap}
.patch span{display:block;padding:0 .9rem}
.patch .head{color:var(--soft)}.patch .hunk{color:var(--accent)}
.patch .plus{background:color-mix(in srgb,var(--good) 13%,transparent)}
.patch .minus{background:color-mix(in srgb,var(--bad) 12%,transparent)}
.check{margin:.7rem 0;padding:.15rem 0 .15rem .95rem;border-left:3px solid var(--line)}
.check.good{border-color:var(--good)}.check.bad{border-color:var(--bad);color:inherit}
.drawing{margin:.4rem 0 0}
.scroll{overflow-x:auto}
.drawing svg{display:block;min-width:720px;width:100%;max-width:960px;height:auto}
figcaption{margin-top:.4rem;color:var(--soft);font-size:13px}
.talk>div{padding:.45rem 0;border-bottom:1px solid var(--line)}
.talk .said{white-space:pre-wrap}
.who{margin:0;font-size:12.5px;font-weight:600}
.who .quiet{font-weight:400}
.commands p{margin:.25rem 0}
.commands code{display:inline-block;padding:.12rem .5rem;background:var(--wash);border-radius:4px}
.two{display:grid;grid-template-columns:1fr 1fr;gap:0 2.5rem}
ul{padding-left:1.1rem}
li{margin:.3rem 0}
.questions{columns:2;column-gap:2.5rem;font-size:13.5px;padding-left:1.8rem}
.questions li{break-inside:avoid}
.to{white-space:normal}
footer{padding-top:2rem;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
@media (max-width:1000px){
.sheet{display:block;padding:0 1.1rem 4rem}
nav{position:static;max-height:none;padding:1rem 0}
nav ol{display:flex;gap:0 1.1rem;overflow-x:auto;padding:.5rem 0;white-space:nowrap}
nav a{border:0;padding:.1rem 0}
header{padding:1.6rem 0 0}
.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}
}
@media (max-width:640px){
body{font-size:15px}
h1{font-size:24px}
dl>div{grid-template-columns:1fr;gap:.1rem}
.two,.questions{display:block;columns:1}
.tiles{grid-template-columns:1fr 1fr}
.wide,.narrow{width:auto;min-width:0;max-width:none}
.tile:last-child:nth-child(odd){grid-column:1/-1}
table,tbody,tr,td{display:block;width:auto;max-width:none;min-width:0}
thead{display:none}
tr{padding:.6rem 0;border-bottom:1px solid var(--line)}
td{display:grid;grid-template-columns:6.6rem minmax(0,1fr);gap:.7rem;padding:.14rem 0;border:0;text-align:left}
td:has(>div:empty){display:none}
td::before{content:attr(data-name);color:var(--soft);font-size:12.5px}
td.figure{text-align:left}
tr.left td{display:block}
tr.left td::before{content:none}
}
@media print{
@page{margin:15mm 14mm}
body{font-size:10.5pt}
.sheet{display:block;max-width:none;padding:0}
nav{position:static;max-height:none;padding:0 0 1rem;overflow:visible}
nav ol{display:block;columns:3;white-space:normal;padding:0}
nav a{border:0;padding:.06rem 0;color:inherit}
header{padding:0 0 1rem}
.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}
section{break-inside:auto;padding-top:1.2rem}
h2,h3{break-after:avoid}
tr,.check,.tile,dl>div,figure,.talk>div{break-inside:avoid}
thead{display:table-header-group}
.table{overflow:visible}
table{font-size:8.5pt}
td{max-width:none;padding-right:.5rem}
.wide{min-width:0;width:auto}
pre{max-height:none;overflow:visible;font-size:8pt}
.drawing svg{min-width:0;max-width:100%}
.scroll{overflow:visible}
a{color:inherit;text-decoration:none}
summary{list-style:none}
}
`;
