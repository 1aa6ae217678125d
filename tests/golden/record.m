% Records what the development kits say of the small golden set: octave-cli record.m KITS FOLDER > kits.txt
% KITS holds the kits' own functions, which are not part of this project, in 2006, 2007, 2008, 2012 and common.
% Every number is printed with 17 digits: "<case> <class> <number of points> <value>", then the points of the curve.
arguments = argv();
[kits, folder] = arguments{:};
warning('off', 'all');
page_screen_output(false);
addpath([kits '/common']);
o.testset = 'test';
o.minoverlap = 0.5;
o.classes = {'ball','balloon','bird','boat','car','fish','house','kite','person','tree'};
o.nclasses = 10;
o.parts = {'head','hand','foot'};
o.nparts = 3;
tree = [folder '/sample/'];
results = [folder '/results/'];
o.annopath = [tree 'Annotations/%s.xml'];
o.imgsetpath = [folder '/%s-with-zeros.txt'];  % the lists with a second column, without which textread takes each second line for a number
o.clsimgsetpath = [tree 'ImageSets/Main/%s_%s.txt'];
o.clsrespath = [results 'Main/%s_cls_test_%s.txt'];
o.detrespath = [results 'Main/%s_det_test_%s.txt'];
o.seg.imgsetpath = [folder '/segmented-%s-with-zeros.txt'];
o.seg.clsimgpath = [tree 'SegmentationClass/%s.png'];
o.seg.clsrespath = [results 'Segmentation/%s_%s_cls/%s.png'];
o.layout.imgsetpath = [tree 'ImageSets/Layout/%s.txt'];
o.layout.respath = [results 'Layout/%s_layout_test.xml'];
o.action.clsimgsetpath = [tree 'ImageSets/Action/%s_%s.txt'];
o.action.respath = [results 'Action/%s_action_test_%s.txt'];
actions = {'jumping','phoning','reading','walking','waving'};

function say(name, cls, value, xs, ys)
    printf('%s %s %d %.17g\n', name, cls, numel(xs), value);
    if numel(xs)
        printf('%.17g %.17g\n', [xs(:) ys(:)]');
    end
end

addpath([kits '/2006']);
for i = 1:numel(o.classes)
    [fp, tp, area] = VOCroc(o, 'comp1', o.classes{i}, false);
    say('classification-2006', o.classes{i}, area, fp, tp);
end
addpath([kits '/2008']);
for i = 1:numel(o.classes)
    [rec, prec, ap] = VOCevalcls(o, 'comp1', o.classes{i}, false);
    say('classification-2008', o.classes{i}, ap, rec, prec);
    say('classification-2012', o.classes{i}, VOCap(rec, prec), rec, prec);  % all that 2012 changed
end
addpath([kits '/2007']);
for i = 1:numel(o.classes)
    [rec, prec, ap] = VOCevaldet(o, 'comp3', o.classes{i}, false);
    say('detection-2007', o.classes{i}, ap, rec, prec);
    say('detection-2012', o.classes{i}, VOCap(rec, prec), rec, prec);  % all that 2012 changed
end
addpath([kits '/2012']);
for i = 1:numel(actions)
    [rec, prec, ap] = VOCevalaction(o, 'comp9', actions{i}, false);
    say('action-2012', actions{i}, ap, rec, prec);
end
[rec, prec, ap] = VOCevallayout_pr(o, 'comp7', false);
for i = 1:3
    say('layout-2012', o.parts{i}, ap{i}, rec{i}, prec{i});
end
labels = ['background', o.classes];
for year = {'2007', '2012'}
    addpath([kits '/' year{1}]);
    [values, mean_value, conf, counts] = VOCevalseg(o, 'comp5');
    for i = 1:numel(labels)
        say(['segmentation-' year{1}], labels{i}, values(i) / 100, [], []);
    end
    printf('counts-%s %s\n', year{1}, mat2str(counts));
end
